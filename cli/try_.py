# SPDX-License-Identifier: MIT
"""Try a workload or some commands in the guest, on any modelled drive.

Nothing is judged or stored. The words behind -- are options of the workload, or without one commands separated by `;`.
A file system is mounted at /mnt before, unmounted and checked behind it.

\b
    spindle try --fs ffs --workload postmark -- --sizes default
    spindle try --array md-raid0-4 --workload rawio -- op=write pattern=sequential
    spindle try --array raid5-scsi-8 --fail m1@0.5 --workload rawio -- op=read pattern=random
    spindle try --fs ext3-ordered --keep out -- mkdir /mnt/a ';' touch /mnt/a/b
"""

from cli import options
from lab.cell import attempt

command = options.Parsed("try", __doc__, attempt.parser(), attempt.attempt)
