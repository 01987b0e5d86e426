# SPDX-License-Identifier: MIT
#
# Unpack, configure and build of a package with 400 source files.  The
# language has no phases: a round is one file unpacked, one test of
# configure and one object built, and 400 rounds are the package.

set $dir=/tmp
set $archivesize=2m
# Half of each set exists: names of what is there, and of what is to come.
set $nsources=800
set $sourcewidth=40
set $sourcesize=cvar(type=cvar-gamma,parameters=mean:10240;gamma:1)
set $ntests=100
set $nobjects=800
set $objectsize=cvar(type=cvar-gamma,parameters=mean:16384;gamma:1.5)
set $archiveio=8k
set $iosize=16k
# 29 operations a round.
set $count=11600

define file name=archive,path=$dir,size=$archivesize,prealloc
define fileset name=sources,path=$dir,size=$sourcesize,entries=$nsources,dirwidth=$sourcewidth,prealloc=50
define fileset name=tests,path=$dir,size=2k,entries=$ntests,dirwidth=1000000,prealloc=20
define fileset name=objects,path=$dir,size=$objectsize,entries=$nobjects,dirwidth=1000000,prealloc=50

set mode quit firstdone

define process name=package,instances=1
{
  thread name=make,memsize=1m,instances=1
  {
    flowop read name=archive-read,filename=archive,iosize=$archiveio,fd=3
    flowop deletefile name=unpack-remove,filesetname=sources
    flowop createfile name=unpack-create,filesetname=sources,fd=1
    flowop writewholefile name=unpack-write,srcfd=1,fd=1,iosize=$iosize
    flowop closefile name=unpack-close,fd=1
    flowop statfile name=unpack-stat,filesetname=sources

    flowop createfile name=test-create,filesetname=tests,fd=1
    flowop writewholefile name=test-write,srcfd=1,fd=1,iosize=$iosize
    flowop closefile name=test-close,fd=1
    flowop openfile name=test-open,filesetname=tests,fd=1
    flowop readwholefile name=test-read,fd=1,iosize=$iosize
    flowop closefile name=test-read-close,fd=1
    flowop deletefile name=test-delete,filesetname=tests
    flowop openfile name=log-open,filesetname=tests,fd=1
    flowop appendfile name=log-append,iosize=100,fd=1
    flowop closefile name=log-close,fd=1

    flowop statfile name=make-stat,filesetname=sources,iters=6
    flowop openfile name=source-open,filesetname=sources,fd=1
    flowop readwholefile name=source-read,fd=1,iosize=$iosize
    flowop closefile name=source-close,fd=1
    flowop deletefile name=object-remove,filesetname=objects
    flowop createfile name=object-create,filesetname=objects,fd=1
    flowop writewholefile name=object-write,srcfd=1,fd=1,iosize=$iosize
    flowop closefile name=object-close,fd=1

    flowop finishoncount name=finish,value=$count
  }
}

echo "ssh-like"

run
