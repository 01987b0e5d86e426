# SPDX-License-Identifier: MIT
#
# PostMark at the size of White, Ng and Hillyer (2001): 25 000 files in 100
# directories, 20 000 transactions, 400 MB.  One round is two of PostMark's
# transactions: a create and a delete, a read and an append.

set $dir=/tmp
# 80 % of them exist, which is 25 000; the others are the names of new files.
set $nfiles=31250
set $dirwidth=313
# Mean 16 000 bytes: 400 MB in 25 000 files.  PostMark draws uniformly.
set $filesize=cvar(type=cvar-uniform,parameters=lower:500;upper:31500)
set $nthreads=1
set $iosize=4k
set $appendsize=16k
# Which file: anywhere, as a value of 0 to 2 times half the number of files.
set $where=cvar(type=cvar-uniform,parameters=lower:0;upper:2)
# 10 flowops a round, 10 000 rounds.
set $count=100000

define fileset name=pool,path=$dir,size=$filesize,entries=$nfiles,dirwidth=$dirwidth,dirgamma=0,prealloc=80

set mode quit firstdone

define process name=postmark,instances=1
{
  thread name=transactions,memsize=1m,instances=$nthreads
  {
    flowop createfile name=create-open,filesetname=pool,indexed=$where,fd=1
    flowop writewholefile name=create-write,srcfd=1,fd=1,iosize=$iosize
    flowop closefile name=create-close,fd=1

    flowop openfile name=read-open,filesetname=pool,indexed=$where,fd=1
    flowop readwholefile name=read,fd=1,iosize=$iosize
    flowop closefile name=read-close,fd=1

    flowop deletefile name=delete,filesetname=pool,indexed=$where

    flowop openfile name=append-open,filesetname=pool,indexed=$where,fd=1
    flowop appendfilerand name=append,iosize=$appendsize,fd=1
    flowop closefile name=append-close,fd=1

    flowop finishoncount name=finish,value=$count
  }
}

echo "postmark-like"

run
