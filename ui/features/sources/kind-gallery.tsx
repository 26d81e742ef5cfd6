import {
  Braces,
  Cloud,
  Database,
  Folder,
  FolderGit2,
  Globe,
  HardDrive,
  LifeBuoy,
  type LucideIcon,
  Mail,
  MessageCircleQuestion,
  MessagesSquare,
  NotebookText,
  Package,
  SquareKanban,
  Table2,
  Target,
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
  s3: Package,
  azure: Package,
  gcs: Package,
  qna: MessageCircleQuestion,
  intents: Target,
  openapi: Braces,
};

const GROUPS: readonly (readonly [title: string, kinds: readonly string[]])[] = [
  ["Web sites and files", ["web", "folder", "http", "push"]],
  ["Drives", ["google-drive", "onedrive", "sharepoint", "dropbox"]],
  ["Wikis and issue trackers", ["notion", "confluence", "jira", "github", "gitlab"]],
  ["Conversations", ["slack", "imap", "zendesk"]],
  ["File servers and repositories", ["webdav", "sftp", "smb", "git"]],
  ["Buckets", ["s3", "azure", "gcs"]],
  ["Records", ["sql", "qna", "intents", "openapi"]],
];

/** Return the groups that have kinds; kinds of other packages are in the last one. */
export function groupsOf<Kind extends Pick<SourceKind, "kind" | "title">>(kinds: readonly Kind[]): { title: string; kinds: Kind[] }[] {
  const grouped = new Set(GROUPS.flatMap(([, names]) => names));
  const others = kinds.filter(({ kind }) => !grouped.has(kind)).sort((one, other) => one.title.localeCompare(other.title));
  return [
    ...GROUPS.map(([title, names]) => ({
      title,
      kinds: names.map((name) => kinds.find(({ kind }) => kind === name)).filter((kind) => kind !== undefined),
    })),
    { title: "Others", kinds: others },
  ].filter((group) => group.kinds.length > 0);
}

/** The installed kinds to choose from. */
export function KindGallery({ kinds }: { kinds: readonly SourceKind[] }) {
  if (kinds.length === 0) return <EmptyState title="No kinds of sources are installed" />;
  return (
    <div className="flex max-w-[1240px] flex-col gap-5 p-4">
      {groupsOf(kinds).map((group) => (
        <section key={group.title} aria-labelledby={headingOf(group.title)}>
          <h2 id={headingOf(group.title)} className="mb-2 font-semibold text-text-2">
            {group.title}
          </h2>
          <ul className="grid gap-3 md:grid-cols-2 lg:grid-cols-3">
            {group.kinds.map((kind) => (
              <KindCard key={kind.kind} kind={kind} />
            ))}
          </ul>
        </section>
      ))}
    </div>
  );
}

const headingOf = (title: string) => `kinds-${title.toLowerCase().replaceAll(" ", "-")}`;

function KindCard({ kind }: { kind: SourceKind }) {
  const Icon = ICONS[kind.kind] ?? Database;
  return (
    <li>
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
}
