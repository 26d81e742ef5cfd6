import {
  Activity,
  ChartColumn,
  FileText,
  FolderSync,
  LibraryBig,
  ListChecks,
  type LucideIcon,
  MessagesSquare,
  ScanSearch,
  Settings,
  Tags,
} from "lucide-react";

export interface Destination {
  href: string;
  label: string;
  short?: string;
  icon: LucideIcon;
  key: string;
  group: "work" | "manage";
}

export const DESTINATIONS: readonly Destination[] = [
  { href: "/documents/", label: "Documents", icon: FileText, key: "d", group: "work" },
  { href: "/sources/", label: "Sources", icon: FolderSync, key: "r", group: "work" },
  { href: "/tags/", label: "Tags", icon: Tags, key: "t", group: "work" },
  { href: "/kbs/", label: "Knowledge bases", short: "KBs", icon: LibraryBig, key: "k", group: "work" },
  { href: "/search/", label: "Search", icon: ScanSearch, key: "s", group: "work" },
  { href: "/chat/", label: "Chat", icon: MessagesSquare, key: "c", group: "work" },
  { href: "/prompts/", label: "Prompts", icon: ListChecks, key: "p", group: "work" },
  { href: "/usage/", label: "Usage", icon: ChartColumn, key: "u", group: "manage" },
  { href: "/operations/", label: "Operations", icon: Activity, key: "o", group: "manage" },
  { href: "/settings/people/", label: "Settings", icon: Settings, key: ",", group: "manage" },
];

export const IN_BOTTOM_BAR = ["/documents/", "/kbs/", "/search/"];

/** Whether the path lies in a destination: /documents/view/ in /documents/, any settings page in Settings. */
export function isWithin(pathname: string, destination: Destination): boolean {
  const root = destination.href.startsWith("/settings/") ? "/settings/" : destination.href;
  return pathname.startsWith(root);
}
