"use client";

import dynamic from "next/dynamic";

import { AppShell } from "@/components/app-shell";

// Loaded when a session ends.
const SignedOut = dynamic(() => import("@/features/sign-in/signed-out").then((module) => module.SignedOut), { ssr: false });

export default function ApplicationLayout({ children }: { children: React.ReactNode }) {
  return <AppShell signedOut={<SignedOut />}>{children}</AppShell>;
}
