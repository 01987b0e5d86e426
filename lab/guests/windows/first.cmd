@echo off
rem SPDX-License-Identifier: MIT
rem first.cmd: at the first logon. The console is the first serial port; the host waits for each of these lines.
mode com1: baud=115200 parity=n data=8 stop=1 >nul
echo spindle: first logon >COM1
mkdir C:\spindle
copy /y A:\agent.exe C:\spindle\ >COM1
if errorlevel 1 goto failed
copy /y A:\rawio.exe C:\spindle\ >COM1
if errorlevel 1 goto failed
rem The agent starts at each boot with the job disk, which is the second disk.
schtasks /create /tn spindle /sc onstart /ru SYSTEM /tr "C:\spindle\agent.exe --job \\.\PhysicalDrive1 --report COM2" >COM1
if errorlevel 1 goto failed
echo spindle: prepared >COM1
shutdown /r /t 0
goto end
:failed
echo spindle: failed >COM1
:end
