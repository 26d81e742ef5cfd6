"use client";

import dynamic from "next/dynamic";
import { usePathname, useRouter } from "next/navigation";
import { useEffect, useState } from "react";

import { ConnectionNotice } from "@/components/connection-notice";
import { SkeletonBlock } from "@/components/feedback";
import { DESTINATIONS } from "@/components/navigation";
import { BottomBar, Sidebar, UploadsLink } from "@/components/navigation-bars";
import { LiveUpdates } from "@/components/live-updates";
import { buttonClass } from "@/components/ui/button";
import { UploadTray } from "@/components/upload-tray";
import { resumeSession, session as held, useEndedSession, useSession } from "@/state/session";
import { useShortcuts } from "@/state/shortcuts";

// Loaded when they are first wanted.
const CommandPalette = dynamic(() => import("@/components/command-palette").then((module) => module.CommandPalette), { ssr: false });
const ShortcutsDialog = dynamic(() => import("@/components/shortcuts-dialog").then((module) => module.ShortcutsDialog), { ssr: false });

/** What surrounds every page: navigation, palette, shortcuts, uploads; only for those who are signed in. */
export function AppShell({
  children,
  signedOut,
}: {
  children: React.ReactNode;
  /** Shown over a page whose session ended. */ signedOut: React.ReactNode;
}) {
  const session = useSession();
  const ended = useEndedSession();
  const isOpen = Boolean(session) || ended !== null;
  const router = useRouter();
  const pathname = usePathname();
  const [isPaletteOpen, setPaletteOpen] = useState(false);
  const [areShortcutsOpen, setShortcutsOpen] = useState(false);

  useEffect(() => {
    if (session !== null || ended !== null) return;
    let isHere = true;
    // A new tab of a person who is signed in asks who they are; only others are led away.
    void resumeSession().then((isResumed) => {
      if (!isHere || isResumed) return;
      const next = encodeURIComponent(`${pathname}${location.search}`);
      router.replace(`/sign-in/?next=${next}${held.hasExpired() ? "&ended=true" : ""}`);
    });
    return () => {
      isHere = false;
    };
  }, [session, ended, router, pathname]);

  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if ((event.metaKey || event.ctrlKey) && event.key.toLowerCase() === "k") {
        event.preventDefault();
        setPaletteOpen((isOpen) => !isOpen);
      }
    };
    document.addEventListener("keydown", onKey);
    return () => document.removeEventListener("keydown", onKey);
  }, []);

  useShortcuts([
    ...DESTINATIONS.map((destination) => ({
      keys: `g ${destination.key}`,
      label: destination.label,
      group: "Go to" as const,
      run: () => router.push(destination.href),
    })),
    { keys: "?", label: "Show keyboard shortcuts", group: "Everywhere", run: () => setShortcutsOpen(true) },
  ]);

  return (
    <>
      <a href="#main" className={buttonClass({}, "sr-only z-50 focus:not-sr-only focus:absolute focus:top-2 focus:left-2")}>
        Skip to content
      </a>
      <div className="relative flex h-dvh overflow-clip">
        <Sidebar onSearch={() => setPaletteOpen(true)} onShortcuts={() => setShortcutsOpen(true)} />
        <div className="flex min-w-0 flex-1 flex-col">
          <ConnectionNotice />
          <main id="main" className="flex min-h-0 min-w-0 flex-1 flex-col" tabIndex={-1} style={{ outline: "none" }}>
            {isOpen ? children : <SkeletonBlock lines={6} />}
          </main>
          <UploadsLink className="h-10 border-t border-line px-4 md:hidden" />
          <BottomBar onShortcuts={() => setShortcutsOpen(true)} />
        </div>
      </div>
      {isOpen && <UploadTray />}
      {ended !== null && signedOut}
      {session && (
        <>
          <LiveUpdates organizationId={session.organizationId} />
          {isPaletteOpen && <CommandPalette open onOpenChange={setPaletteOpen} />}
          {areShortcutsOpen && <ShortcutsDialog open onOpenChange={setShortcutsOpen} />}
        </>
      )}
    </>
  );
}
