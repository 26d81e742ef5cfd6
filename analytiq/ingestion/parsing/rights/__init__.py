"""The removal of a process's rights: files by Landlock, all else by a filter of system calls.

Linux alone, without privileges and without a library. `give_up` restricts the process that parses a document;
`remaining` tests which actions such a process can still do; `forbid_memory_reads` protects processes with keys.
"""
