# SPDX-License-Identifier: MIT
# Install rawio and the agent, which Vagrant has put into the user's folder "spindle". Not yet run on Windows.
$ErrorActionPreference = "Stop"
$from = Join-Path $env:USERPROFILE "spindle"
$prefix = "C:\spindle"
foreach ($program in "rawio.exe", "spindle-agent.exe") {
    if (-not (Test-Path (Join-Path $from $program))) { throw "provision: $from has no $program; make the box again" }
}
New-Item -ItemType Directory -Force "$prefix\workloads\rawio", "$prefix\sbin" | Out-Null
Copy-Item (Join-Path $from "rawio.exe") "$prefix\workloads\rawio\rawio.exe"
Copy-Item (Join-Path $from "spindle-agent.exe") "$prefix\sbin\spindle-agent.exe"
Write-Output "provision: workloads are in $prefix\workloads, the agent is $prefix\sbin\spindle-agent.exe"
