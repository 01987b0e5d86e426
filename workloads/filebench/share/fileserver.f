# SPDX-License-Identifier: MIT
#
# A file server for home directories: write new files, append to some, read
# some, delete some, look at some.
# Mix and numbers are those of filebench's own fileserver.

set $dir=/tmp
set $nfiles=10000
set $meandirwidth=20
set $filesize=cvar(type=cvar-gamma,parameters=mean:131072;gamma:1.5)
set $nthreads=50
set $iosize=1m
set $meanappendsize=16k
set $runtime=60

define fileset name=homes,path=$dir,size=$filesize,entries=$nfiles,dirwidth=$meandirwidth,prealloc=80

define process name=fileserver,instances=1
{
  thread name=user,memsize=10m,instances=$nthreads
  {
    flowop createfile name=new-create,filesetname=homes,fd=1
    flowop writewholefile name=new-write,srcfd=1,fd=1,iosize=$iosize
    flowop closefile name=new-close,fd=1

    flowop openfile name=append-open,filesetname=homes,fd=1
    flowop appendfilerand name=append-write,iosize=$meanappendsize,fd=1
    flowop closefile name=append-close,fd=1

    flowop openfile name=get-open,filesetname=homes,fd=1
    flowop readwholefile name=get-read,fd=1,iosize=$iosize
    flowop closefile name=get-close,fd=1

    flowop deletefile name=remove,filesetname=homes
    flowop statfile name=look,filesetname=homes
  }
}

echo "fileserver"

run $runtime
