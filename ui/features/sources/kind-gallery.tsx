import {
  Cloud,
  Database,
  Folder,
  FolderGit2,
  Globe,
  HardDrive,
  LifeBuoy,
  type LucideIcon,
  Mail,
  MessagesSquare,
  NotebookText,
  SquareKanban,
  Table2,
  Webhook,
} from "lucide-react";
import Link from "next/link";

import { EmptyState } from "@/components/feedback";

import type { SourceKind } from "./queries";

const ICONS: Readonly<Record<string, LucideIcon>> = {
  folder: Folder,
  git: FolderGit2,
  github: FolderGit2,
  gitlab: FolderGit2,
  web: Globe,
  webdav: HardDrive,
  sftp: HardDrive,
  smb: HardDrive,
  http: Globe,
  "google-drive": Cloud,
  onedrive: Cloud,
  sharepoint: Cloud,
  dropbox: Cloud,
  notion: NotebookText,
  confluence: NotebookText,
  jira: SquareKanban,
  zendesk: LifeBuoy,
  push: Webhook,
  imap: Mail,
  slack: MessagesSquare,
  sql: Table2,
};

/** The installed kinds to choose from. */
export function KindGallery({ kinds }: { kinds: readonly SourceKind[] }) {
  if (kinds.length === 0) return <EmptyState title="No kinds of sources are installed" />;
  return (
    <ul aria-label="Kinds of sources" className="grid max-w-[1040px] gap-3 p-4 sm:grid-cols-2 lg:grid-cols-3">
      {[...kinds]
        .sort((one, other) => one.title.localeCompare(other.title))
        .map((kind) => {
          const Icon = ICONS[kind.kind] ?? Database;
          return (
            <li key={kind.kind}>
              <Link
                href={`/sources/new/?kind=${encodeURIComponent(kind.kind)}`}
                className="flex h-full items-start gap-3 rounded-lg border border-line bg-surface p-3 hover:border-control hover:bg-hover"
              >
                <Icon aria-hidden size={20} className="mt-0.5 shrink-0 text-text-2" />
                <span className="flex min-w-0 flex-col gap-0.5">
                  <span className="font-semibold break-words">{kind.title}</span>
                  <span className="text-text-2">{kind.description}</span>
                </span>
              </Link>
            </li>
          );
        })}
    </ul>
  );
}
