# SPDX-License-Identifier: MIT
#
# A mail server that keeps a message in a file: deliver (create, append,
# fsync), read and annotate (read, append, fsync), read.
# Mix and numbers are those of filebench's own varmail.

set $dir=/tmp
set $nfiles=1000
set $meandirwidth=1000000
set $filesize=cvar(type=cvar-gamma,parameters=mean:16384;gamma:1.5)
set $nthreads=16
set $iosize=1m
set $meanappendsize=16k
set $runtime=60

define fileset name=mail,path=$dir,size=$filesize,entries=$nfiles,dirwidth=$meandirwidth,prealloc=80

define process name=mailserver,instances=1
{
  thread name=mailbox,memsize=10m,instances=$nthreads
  {
    flowop deletefile name=expunge,filesetname=mail

    flowop createfile name=deliver-create,filesetname=mail,fd=1
    flowop appendfilerand name=deliver-append,iosize=$meanappendsize,fd=1
    flowop fsync name=deliver-fsync,fd=1
    flowop closefile name=deliver-close,fd=1

    flowop openfile name=mark-open,filesetname=mail,fd=1
    flowop readwholefile name=mark-read,fd=1,iosize=$iosize
    flowop appendfilerand name=mark-append,iosize=$meanappendsize,fd=1
    flowop fsync name=mark-fsync,fd=1
    flowop closefile name=mark-close,fd=1

    flowop openfile name=show-open,filesetname=mail,fd=1
    flowop readwholefile name=show-read,fd=1,iosize=$iosize
    flowop closefile name=show-close,fd=1
  }
}

echo "varmail"

run $runtime
