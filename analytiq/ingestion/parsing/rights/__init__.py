"""The removal of a process's rights: files by Landlock, all else by a filter of system calls.

Linux alone, without privileges and without a library. `give_up` binds the process that parses a document;
`remaining` tries what such a process can still do; `forbid_memory_reads` protects the processes that hold keys.
"""
