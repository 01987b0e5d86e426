# SPDX-License-Identifier: MIT
#
# Software development on a time-sharing system, 20 users at once: list and
# look, edit with a backup, compile and run away with the temporary files,
# make and remove directories.  Everything is small and short-lived.

set $dir=/tmp
set $nsources=2000
set $sourcewidth=20
set $sourcesize=cvar(type=cvar-gamma,parameters=mean:6144;gamma:1.5)
set $ntrees=400
set $ntemporaries=1000
set $temporarysize=cvar(type=cvar-gamma,parameters=mean:12288;gamma:1)
set $nusers=20
set $iosize=4k
# 31 operations a round, 20 rounds a user.
set $count=12400

define fileset name=home,path=$dir,size=$sourcesize,entries=$nsources,dirwidth=$sourcewidth,prealloc=80
define fileset name=trees,path=$dir,leafdirs=$ntrees,dirwidth=$sourcewidth,prealloc=50
define fileset name=scratch,path=$dir,size=$temporarysize,entries=$ntemporaries,dirwidth=1000000,prealloc=10

set mode quit firstdone

define process name=users,instances=1
{
  thread name=script,memsize=1m,instances=$nusers
  {
    flowop listdir name=ls,filesetname=home
    flowop statfile name=stat,filesetname=home,iters=4

    flowop openfile name=edit-open,filesetname=home,fd=1
    flowop readwholefile name=edit-read,fd=1,iosize=$iosize
    flowop closefile name=edit-close,fd=1
    flowop createfile name=save-create,filesetname=home,fd=1
    flowop writewholefile name=save-write,srcfd=1,fd=1,iosize=$iosize
    flowop closefile name=save-close,fd=1
    flowop deletefile name=backup-delete,filesetname=home

    flowop openfile name=compile-open,filesetname=home,fd=1
    flowop readwholefile name=compile-read,fd=1,iosize=$iosize
    flowop closefile name=compile-close,fd=1
    flowop createfile name=assembler-create,filesetname=scratch,fd=2
    flowop writewholefile name=assembler-write,srcfd=2,fd=2,iosize=$iosize
    flowop closefile name=assembler-close,fd=2
    flowop createfile name=object-create,filesetname=scratch,fd=2
    flowop writewholefile name=object-write,srcfd=2,fd=2,iosize=$iosize
    flowop closefile name=object-close,fd=2
    flowop openfile name=link-open,filesetname=scratch,fd=2
    flowop readwholefile name=link-read,fd=2,iosize=$iosize
    flowop closefile name=link-close,fd=2
    flowop deletefile name=scratch-delete,filesetname=scratch,iters=2

    flowop makedir name=mkdir,filesetname=trees
    flowop openfile name=log-open,filesetname=home,fd=1
    flowop appendfilerand name=log-append,iosize=1k,fd=1
    flowop closefile name=log-close,fd=1
    flowop removedir name=rmdir,filesetname=trees

    flowop finishoncount name=finish,value=$count
  }
}

echo "sdet-like"

run
