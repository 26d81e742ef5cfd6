/** Files of a drop, those in dropped folders included. */

/** A file to upload, with its folder where a folder was chosen. */
export interface ChosenFile {
  file: File;
  path: string | null;
}

/** Return the dropped files, folder by folder. Call while the event is under way: the browser empties it afterwards. */
export async function droppedFiles(transfer: DataTransfer): Promise<ChosenFile[]> {
  const items = Array.from(transfer.items).filter((item) => item.kind === "file");
  const found = items.map((item) => {
    const entry = item.webkitGetAsEntry();
    const file = item.getAsFile();
    if (entry?.isDirectory) return filesIn(entry as FileSystemDirectoryEntry, entry.name);
    return Promise.resolve(file === null ? [] : [{ file, path: null }]);
  });
  return (await Promise.all(found)).flat();
}

async function filesIn(folder: FileSystemDirectoryEntry, path: string): Promise<ChosenFile[]> {
  const found = await Promise.all(
    (await entriesOf(folder)).map(async (entry) => {
      // What systems put beside the files of a person: .DS_Store and the like.
      if (entry.name.startsWith(".")) return [];
      if (entry.isDirectory) return filesIn(entry as FileSystemDirectoryEntry, `${path}/${entry.name}`);
      const file = await new Promise<File>((resolve, reject) => (entry as FileSystemFileEntry).file(resolve, reject));
      return [{ file, path }];
    }),
  );
  return found.flat();
}

/** A reader returns at most a hundred entries a call, and none at the end. */
async function entriesOf(folder: FileSystemDirectoryEntry): Promise<FileSystemEntry[]> {
  const reader = folder.createReader();
  const entries: FileSystemEntry[] = [];
  for (;;) {
    const next = await new Promise<FileSystemEntry[]>((resolve, reject) => reader.readEntries(resolve, reject));
    if (next.length === 0) return entries;
    entries.push(...next);
  }
}
