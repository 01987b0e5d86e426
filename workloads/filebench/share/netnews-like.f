# SPDX-License-Identifier: MIT
#
# A news spool of 2 GB: articles arrive in whatever group they are for, and
# old ones of other groups expire.  No file is near the one before.

set $dir=/tmp
# Half of them exist.
set $nfiles=500000
# Groups with a hundred articles in the mean, some with far more.
set $groupwidth=100
# Mean 8 KiB, most of them small: 250 000 articles are 2 GB.
set $articlesize=cvar(type=cvar-gamma,parameters=mean:8192;gamma:0.5,min=300)
set $nfeeds=4
set $iosize=64k
set $where=cvar(type=cvar-uniform,parameters=lower:0;upper:2)
# 4 flowops an article: 100 000 arrive, and as many expire.
set $count=400000

define fileset name=spool,path=$dir,size=$articlesize,entries=$nfiles,dirwidth=$groupwidth,dirgamma=500,prealloc=50

set mode quit firstdone

define process name=news,instances=1
{
  thread name=feed,memsize=1m,instances=$nfeeds
  {
    flowop createfile name=arrive-create,filesetname=spool,indexed=$where,fd=1
    flowop writewholefile name=arrive-write,srcfd=1,fd=1,iosize=$iosize
    flowop closefile name=arrive-close,fd=1
    flowop deletefile name=expire,filesetname=spool,indexed=$where
    flowop finishoncount name=finish,value=$count
  }
}

echo "netnews-like"

run
