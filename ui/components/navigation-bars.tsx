"use client";

import { useQuery } from "@tanstack/react-query";
import { Ellipsis, Keyboard, LogOut, Monitor, Moon, Search, Sun, UploadCloud, UserRound } from "lucide-react";
import Link from "next/link";
import { usePathname } from "next/navigation";
import { DropdownMenu } from "radix-ui";

import { deadJobsQuery, documentCountsQuery, organizationQuery } from "@/api/queries";
import { tellFailure } from "@/components/feedback";
import { openOrganization, OrganizationSwitcher } from "@/components/organization-switcher";
import { DESTINATIONS, type Destination, IN_BOTTOM_BAR, isWithin } from "@/components/navigation";
import { formatCount, plural } from "@/lib/format";
import { isPerson, session, useSession } from "@/state/session";
import { chooseTheme, type ThemeChoice, useThemeChoice } from "@/state/theme";
import { openTray, progressOf, useUploads } from "@/state/uploads";

export function Sidebar({ onSearch, onShortcuts }: { onSearch: () => void; onShortcuts: () => void }) {
  const isSignedIn = Boolean(useSession());
  const organization = useQuery({ ...organizationQuery(), enabled: isSignedIn });
  const name = organization.data?.name ?? "";
  return (
    <nav
      aria-label="Main"
      className="flex w-[52px] shrink-0 flex-col gap-0.5 border-r border-line bg-sunken p-1.5 max-md:hidden lg:w-[220px] lg:p-2"
    >
      <OrganizationSwitcher name={name} />
      <button
        type="button"
        onClick={onSearch}
        className="mb-2 flex h-8 items-center gap-2 rounded-md border border-control bg-surface px-2 text-text-2 hover:bg-hover"
      >
        <Search aria-hidden size={15} className="shrink-0" />
        <span className="flex-1 text-left max-lg:sr-only">Search everything</span>
        <span className="kbd max-lg:hidden">Ctrl K</span>
      </button>
      {DESTINATIONS.filter((destination) => destination.group === "work").map((destination) => (
        <NavigationLink key={destination.href} destination={destination} />
      ))}
      <div className="mt-3 mb-1 px-2 text-xs text-text-3 max-lg:hidden">Manage</div>
      <div className="my-1 border-t border-line lg:hidden" />
      {DESTINATIONS.filter((destination) => destination.group === "manage").map((destination) => (
        <NavigationLink key={destination.href} destination={destination} />
      ))}
      <div className="flex-1" />
      <UploadsLink className="h-8 rounded-md px-2" labelClassName="max-lg:sr-only" />
      <MoreMenu onShortcuts={onShortcuts}>
        <button type="button" className="flex h-8 items-center gap-2 rounded-md px-2 text-text-2 hover:bg-hover">
          <Ellipsis aria-hidden size={16} className="shrink-0" />
          <span className="max-lg:sr-only">Preferences</span>
        </button>
      </MoreMenu>
    </nav>
  );
}

function NavigationLink({ destination }: { destination: Destination }) {
  const isCurrent = isWithin(usePathname(), destination);
  const Icon = destination.icon;
  return (
    <Link
      href={destination.href}
      aria-current={isCurrent ? "page" : undefined}
      title={destination.label}
      className={`relative flex h-8 items-center gap-2 rounded-md px-2 ${
        isCurrent ? "bg-selected font-semibold text-text" : "text-text-2 hover:bg-hover hover:text-text"
      }`}
    >
      <Icon aria-hidden size={16} className="shrink-0" />
      <span className="min-w-0 flex-1 truncate max-lg:sr-only">{destination.label}</span>
      {destination.href === "/operations/" && <DeadJobs />}
      {destination.href === "/documents/" && <FailedCount />}
    </Link>
  );
}

/** The number of failed jobs: somebody has to look at them. */
function DeadJobs() {
  const isSignedIn = Boolean(useSession());
  const { data } = useQuery({ ...deadJobsQuery(), enabled: isSignedIn });
  if (!data?.total_count) return null;
  return <Badge count={`${formatCount(data.total_count)}${data.total_count_is_at_least ? "+" : ""}`} what="failed jobs" />;
}

/** How many documents failed, so that nobody takes them for searchable. */
function FailedCount() {
  const isSignedIn = Boolean(useSession());
  const { data } = useQuery({ ...documentCountsQuery(), enabled: isSignedIn });
  return data?.failed ? <Badge count={formatCount(data.failed)} what={data.failed === 1 ? "failed document" : "failed documents"} /> : null;
}

function Badge({ count, what }: { count: string; what: string }) {
  return (
    <span
      title={`${count} ${what}`}
      className="rounded bg-failed-bg px-1.5 text-xs font-semibold text-failed max-lg:absolute max-lg:-top-1 max-lg:right-0"
    >
      {count}
      <span className="sr-only"> {what}</span>
    </span>
  );
}

/** The way back to uploads whose tray is closed, with how far they are. */
export function UploadsLink({ className, labelClassName = "" }: { className: string; labelClassName?: string }) {
  const state = useUploads();
  if (state.isOpen || state.uploads.length === 0) return null;
  const { chosen, under, taken, refused } = progressOf(state);
  const failed = refused > 0 ? `, ${formatCount(refused)} failed` : "";
  const words =
    under > 0
      ? `Sending ${formatCount(taken + refused)} of ${formatCount(state.uploads.length - chosen)}`
      : chosen > 0
        ? `${plural(chosen, "file")} not sent`
        : `${plural(taken, "file")} sent${failed}`;
  return (
    <button
      type="button"
      onClick={openTray}
      title={`Show uploads: ${words}`}
      className={`flex shrink-0 items-center gap-2 bg-working-bg text-left text-working hover:underline ${className}`}
    >
      <UploadCloud aria-hidden size={16} className="shrink-0" />
      <span className={`min-w-0 flex-1 truncate tabular-nums ${labelClassName}`}>{words}</span>
    </button>
  );
}

export function BottomBar({ onShortcuts }: { onShortcuts: () => void }) {
  const pathname = usePathname();
  const shown = DESTINATIONS.filter((destination) => IN_BOTTOM_BAR.includes(destination.href));
  const others = DESTINATIONS.filter((destination) => !IN_BOTTOM_BAR.includes(destination.href));
  const style = (isCurrent: boolean) =>
    `flex min-w-0 flex-1 flex-col items-center justify-center gap-0.5 text-xs ${isCurrent ? "font-semibold text-link" : "text-text-2"}`;
  return (
    <nav
      aria-label="Main"
      className="flex h-14 shrink-0 border-t border-line bg-sunken md:hidden"
      style={{ paddingBottom: "env(safe-area-inset-bottom)", boxSizing: "content-box" }}
    >
      {shown.map((destination) => {
        const isCurrent = isWithin(pathname, destination);
        return (
          <Link key={destination.href} href={destination.href} aria-current={isCurrent ? "page" : undefined} className={style(isCurrent)}>
            <destination.icon aria-hidden size={18} />
            {destination.short ?? destination.label}
          </Link>
        );
      })}
      <MoreMenu onShortcuts={onShortcuts} destinations={others}>
        <button type="button" className={style(others.some((destination) => isWithin(pathname, destination)))}>
          <Ellipsis aria-hidden size={18} />
          More
        </button>
      </MoreMenu>
    </nav>
  );
}

const THEMES: readonly { choice: ThemeChoice; label: string; icon: typeof Sun }[] = [
  { choice: "system", label: "Same as system", icon: Monitor },
  { choice: "light", label: "Light", icon: Sun },
  { choice: "dark", label: "Dark", icon: Moon },
];

function MoreMenu({
  children,
  onShortcuts,
  destinations = [],
}: {
  children: React.ReactNode;
  onShortcuts: () => void;
  destinations?: readonly Destination[];
}) {
  const theme = useThemeChoice();
  const held = useSession();
  return (
    <DropdownMenu.Root>
      <DropdownMenu.Trigger asChild>{children}</DropdownMenu.Trigger>
      <DropdownMenu.Portal>
        <DropdownMenu.Content className="layer appear z-50 min-w-[200px] p-1" sideOffset={6} align="start" collisionPadding={8}>
          {destinations.map((destination) => (
            <DropdownMenu.Item key={destination.href} asChild>
              <Link href={destination.href} className="menu-item">
                <destination.icon aria-hidden size={15} /> {destination.label}
              </Link>
            </DropdownMenu.Item>
          ))}
          {destinations.length > 0 && <DropdownMenu.Separator className="my-1 border-t border-line" />}
          {isPerson(held) && (
            <>
              <DropdownMenu.Label className="max-w-[260px] truncate px-2 py-1 text-xs text-text-3">{held.email}</DropdownMenu.Label>
              {held.organizations.length > 1 && (
                <DropdownMenu.RadioGroup value={held.organizationId} onValueChange={openOrganization}>
                  {held.organizations.map((organization) => (
                    <DropdownMenu.RadioItem key={organization.organization_id} value={organization.organization_id} className="menu-item">
                      <span className="max-w-[220px] flex-1 truncate">{organization.organization_name}</span>
                      <DropdownMenu.ItemIndicator>✓</DropdownMenu.ItemIndicator>
                    </DropdownMenu.RadioItem>
                  ))}
                </DropdownMenu.RadioGroup>
              )}
              <DropdownMenu.Item asChild>
                <Link href="/account/" className="menu-item">
                  <UserRound aria-hidden size={15} /> Your account
                </Link>
              </DropdownMenu.Item>
              <DropdownMenu.Separator className="my-1 border-t border-line" />
            </>
          )}
          <DropdownMenu.Label className="px-2 py-1 text-xs text-text-3">Theme</DropdownMenu.Label>
          <DropdownMenu.RadioGroup value={theme} onValueChange={(value) => chooseTheme(value as ThemeChoice)}>
            {THEMES.map(({ choice, label, icon: Icon }) => (
              <DropdownMenu.RadioItem key={choice} value={choice} className="menu-item">
                <Icon aria-hidden size={15} />
                <span className="flex-1">{label}</span>
                <DropdownMenu.ItemIndicator>✓</DropdownMenu.ItemIndicator>
              </DropdownMenu.RadioItem>
            ))}
          </DropdownMenu.RadioGroup>
          <DropdownMenu.Separator className="my-1 border-t border-line" />
          <DropdownMenu.Item className="menu-item" onSelect={onShortcuts}>
            <Keyboard aria-hidden size={15} />
            <span className="flex-1">Keyboard shortcuts</span>
            <span className="kbd">?</span>
          </DropdownMenu.Item>
          <DropdownMenu.Item
            className="menu-item"
            onSelect={() => void session.signOut().catch((error: unknown) => tellFailure("You are still signed in", error))}
          >
            <LogOut aria-hidden size={15} /> Sign out
          </DropdownMenu.Item>
        </DropdownMenu.Content>
      </DropdownMenu.Portal>
    </DropdownMenu.Root>
  );
}
