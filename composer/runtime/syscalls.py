"""Which system calls a sandbox may make, and their numbers; what is not listed is refused.

The set is that of container engines' defaults: the kernel's calls without those that load code into it, set clocks,
mount, make namespaces, trace the whole machine or reach other users' keys, and without io_uring. Numbers are of
Linux' ``unistd.h`` (up to `NEWEST`): x86-64, arm64 and i386, ``-`` where an architecture has no such call.
"""

from __future__ import annotations

ARCHITECTURES = ("x86_64", "aarch64", "i386")
NEWEST = 466  # the last number that was considered here; later calls do not exist for a sandbox (ENOSYS)
ARM_ONLY = ("arm_fadvise64_64", "arm_sync_file_range", "breakpoint", "cacheflush", "set_tls", "sync_file_range2")

_TABLE = """
_llseek:-:-:140 _newselect:-:-:142 accept:43:202:- accept4:288:242:364 access:21:-:33 adjtimex:159:171:124
alarm:37:-:27 arch_prctl:158:-:384 bind:49:200:361 brk:12:214:45 cachestat:451:451:451 capget:125:90:184
capset:126:91:185 chdir:80:49:12 chmod:90:-:15 chown:92:-:182 chown32:-:-:212 chroot:161:51:61
clock_adjtime:305:266:343 clock_adjtime64:-:-:405 clock_getres:229:114:266 clock_getres_time64:-:-:406
clock_gettime:228:113:265 clock_gettime64:-:-:403 clock_nanosleep:230:115:267 clock_nanosleep_time64:-:-:407
clone:56:220:120 clone3:435:435:435 close:3:57:6 close_range:436:436:436 connect:42:203:362
copy_file_range:326:285:377 creat:85:-:8 dup:32:23:41 dup2:33:-:63 dup3:292:24:330 epoll_create:213:-:254
epoll_create1:291:20:329 epoll_ctl:233:21:255 epoll_ctl_old:214:-:- epoll_pwait:281:22:319 epoll_pwait2:441:441:441
epoll_wait:232:-:256 epoll_wait_old:215:-:- eventfd:284:-:323 eventfd2:290:19:328 execve:59:221:11
execveat:322:281:358 exit:60:93:1 exit_group:231:94:252 faccessat:269:48:307 faccessat2:439:439:439
fadvise64:221:223:250 fadvise64_64:-:-:272 fallocate:285:47:324 fanotify_mark:301:263:339 fchdir:81:50:133
fchmod:91:52:94 fchmodat:268:53:306 fchmodat2:452:452:452 fchown:93:55:95 fchown32:-:-:207 fchownat:260:54:298
fcntl:72:25:55 fcntl64:-:-:221 fdatasync:75:83:148 fgetxattr:193:10:231 flistxattr:196:13:234 flock:73:32:143
fork:57:-:2 fremovexattr:199:16:237 fsetxattr:190:7:228 fstat:5:80:108 fstat64:-:-:197 fstatat64:-:-:300
fstatfs:138:44:100 fstatfs64:-:-:269 fsync:74:82:118 ftruncate:77:46:93 ftruncate64:-:-:194 futex:202:98:240
futex_requeue:456:456:456 futex_time64:-:-:422 futex_wait:455:455:455 futex_waitv:449:449:449 futex_wake:454:454:454
futimesat:261:-:299 get_robust_list:274:100:312 get_thread_area:211:-:244 getcpu:309:168:318 getcwd:79:17:183
getdents:78:-:141 getdents64:217:61:220 getegid:108:177:50 getegid32:-:-:202 geteuid:107:175:49 geteuid32:-:-:201
getgid:104:176:47 getgid32:-:-:200 getgroups:115:158:80 getgroups32:-:-:205 getitimer:36:102:105
getpeername:52:205:368 getpgid:121:155:132 getpgrp:111:-:65 getpid:39:172:20 getppid:110:173:64 getpriority:140:141:96
getrandom:318:278:355 getresgid:120:150:171 getresgid32:-:-:211 getresuid:118:148:165 getresuid32:-:-:209
getrlimit:97:163:76 getrusage:98:165:77 getsid:124:156:147 getsockname:51:204:367 getsockopt:55:209:365
gettid:186:178:224 gettimeofday:96:169:78 getuid:102:174:24 getuid32:-:-:199 getxattr:191:8:229 getxattrat:464:464:464
inotify_add_watch:254:27:292 inotify_init:253:-:291 inotify_init1:294:26:332 inotify_rm_watch:255:28:293
io_cancel:210:3:249 io_destroy:207:1:246 io_getevents:208:4:247 io_pgetevents:333:292:385 io_pgetevents_time64:-:-:416
io_setup:206:0:245 io_submit:209:2:248 ioctl:16:29:54 ioprio_get:252:31:290 ioprio_set:251:30:289 ipc:-:-:117
kill:62:129:37 landlock_add_rule:445:445:445 landlock_create_ruleset:444:444:444 landlock_restrict_self:446:446:446
lchown:94:-:16 lchown32:-:-:198 lgetxattr:192:9:230 link:86:-:9 linkat:265:37:303 listen:50:201:363
listxattr:194:11:232 listxattrat:465:465:465 llistxattr:195:12:233 lremovexattr:198:15:236 lseek:8:62:19
lsetxattr:189:6:227 lstat:6:-:107 lstat64:-:-:196 madvise:28:233:219 map_shadow_stack:453:453:453
membarrier:324:283:375 memfd_create:319:279:356 memfd_secret:447:447:447 mincore:27:232:218 mkdir:83:-:39
mkdirat:258:34:296 mknod:133:-:14 mknodat:259:33:297 mlock:149:228:150 mlock2:325:284:376 mlockall:151:230:152
mmap:9:222:90 mmap2:-:-:192 modify_ldt:154:-:123 mprotect:10:226:125 mq_getsetattr:245:185:282 mq_notify:244:184:281
mq_open:240:180:277 mq_timedreceive:243:183:280 mq_timedreceive_time64:-:-:419 mq_timedsend:242:182:279
mq_timedsend_time64:-:-:418 mq_unlink:241:181:278 mremap:25:216:163 mseal:462:462:462 msgctl:71:187:402
msgget:68:186:399 msgrcv:70:188:401 msgsnd:69:189:400 msync:26:227:144 munlock:150:229:151 munlockall:152:231:153
munmap:11:215:91 name_to_handle_at:303:264:341 nanosleep:35:101:162 newfstatat:262:79:- open:2:-:5 openat:257:56:295
openat2:437:437:437 pause:34:-:29 personality:135:92:136 pidfd_open:434:434:434 pidfd_send_signal:424:424:424
pipe:22:-:42 pipe2:293:59:331 pkey_alloc:330:289:381 pkey_free:331:290:382 pkey_mprotect:329:288:380 poll:7:-:168
ppoll:271:73:309 ppoll_time64:-:-:414 prctl:157:167:172 pread64:17:67:180 preadv:295:69:333 preadv2:327:286:378
prlimit64:302:261:340 process_mrelease:448:448:448 process_vm_readv:310:270:347 process_vm_writev:311:271:348
pselect6:270:72:308 pselect6_time64:-:-:413 ptrace:101:117:26 pwrite64:18:68:181 pwritev:296:70:334
pwritev2:328:287:379 read:0:63:3 readahead:187:213:225 readlink:89:-:85 readlinkat:267:78:305 readv:19:65:145
recvfrom:45:207:371 recvmmsg:299:243:337 recvmmsg_time64:-:-:417 recvmsg:47:212:372 remap_file_pages:216:234:257
removexattr:197:14:235 removexattrat:466:466:466 rename:82:-:38 renameat:264:38:302 renameat2:316:276:353
restart_syscall:219:128:0 rmdir:84:-:40 rseq:334:293:386 rt_sigaction:13:134:174 rt_sigpending:127:136:176
rt_sigprocmask:14:135:175 rt_sigqueueinfo:129:138:178 rt_sigreturn:15:139:173 rt_sigsuspend:130:133:179
rt_sigtimedwait:128:137:177 rt_sigtimedwait_time64:-:-:421 rt_tgsigqueueinfo:297:240:335
sched_get_priority_max:146:125:159 sched_get_priority_min:147:126:160 sched_getaffinity:204:123:242
sched_getattr:315:275:352 sched_getparam:143:121:155 sched_getscheduler:145:120:157 sched_rr_get_interval:148:127:161
sched_rr_get_interval_time64:-:-:423 sched_setaffinity:203:122:241 sched_setattr:314:274:351
sched_setparam:142:118:154 sched_setscheduler:144:119:156 sched_yield:24:124:158 seccomp:317:277:354 select:23:-:82
semctl:66:191:394 semget:64:190:393 semop:65:193:- semtimedop:220:192:- semtimedop_time64:-:-:420 sendfile:40:71:187
sendfile64:-:-:239 sendmmsg:307:269:345 sendmsg:46:211:370 sendto:44:206:369 set_robust_list:273:99:311
set_thread_area:205:-:243 set_tid_address:218:96:258 setfsgid:123:152:139 setfsgid32:-:-:216 setfsuid:122:151:138
setfsuid32:-:-:215 setgid:106:144:46 setgid32:-:-:214 setgroups:116:159:81 setgroups32:-:-:206 setitimer:38:103:104
setpgid:109:154:57 setpriority:141:140:97 setregid:114:143:71 setregid32:-:-:204 setresgid:119:149:170
setresgid32:-:-:210 setresuid:117:147:164 setresuid32:-:-:208 setreuid:113:145:70 setreuid32:-:-:203
setrlimit:160:164:75 setsid:112:157:66 setsockopt:54:208:366 setuid:105:146:23 setuid32:-:-:213 setxattr:188:5:226
setxattrat:463:463:463 shmat:30:196:397 shmctl:31:195:396 shmdt:67:197:398 shmget:29:194:395 shutdown:48:210:373
sigaction:-:-:67 sigaltstack:131:132:186 signal:-:-:48 signalfd:282:-:321 signalfd4:289:74:327 sigpending:-:-:73
sigprocmask:-:-:126 sigreturn:-:-:119 sigsuspend:-:-:72 socket:41:198:359 socketcall:-:-:102 socketpair:53:199:360
splice:275:76:313 stat:4:-:106 stat64:-:-:195 statfs:137:43:99 statfs64:-:-:268 statx:332:291:383 symlink:88:-:83
symlinkat:266:36:304 sync:162:81:36 sync_file_range:277:84:314 syncfs:306:267:344 sysinfo:99:179:116 tee:276:77:315
tgkill:234:131:270 time:201:-:13 timer_create:222:107:259 timer_delete:226:111:263 timer_getoverrun:225:109:262
timer_gettime:224:108:261 timer_gettime64:-:-:408 timer_settime:223:110:260 timer_settime64:-:-:409
timerfd_create:283:85:322 timerfd_gettime:287:87:326 timerfd_gettime64:-:-:410 timerfd_settime:286:86:325
timerfd_settime64:-:-:411 times:100:153:43 tkill:200:130:238 truncate:76:45:92 truncate64:-:-:193 ugetrlimit:-:-:191
umask:95:166:60 uname:63:160:122 unlink:87:-:10 unlinkat:263:35:301 utime:132:-:30 utimensat:280:88:320
utimensat_time64:-:-:412 utimes:235:-:271 vfork:58:-:190 vmsplice:278:75:316 wait4:61:260:114 waitid:247:95:284
waitpid:-:-:7 write:1:64:4 writev:20:66:146
"""


def numbers() -> dict[str, dict[str, int]]:
    """The calls by name, each with its number by architecture."""
    found = {}
    for word in _TABLE.split():
        name, *columns = word.split(":")
        pairs = zip(ARCHITECTURES, columns, strict=True)
        found[name] = {architecture: int(number) for architecture, number in pairs if number != "-"}
    return found
