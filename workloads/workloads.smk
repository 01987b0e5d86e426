# SPDX-License-Identifier: MIT
# Workloads are compiled into the guest image (rule guest in lab/lab.smk); nothing is made from them alone yet.
