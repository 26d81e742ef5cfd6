"use client";

import { useRouter } from "next/navigation";
import { useEffect } from "react";

/** The server redirects; this is for other servers of the export. */
export default function Home() {
  const router = useRouter();
  useEffect(() => router.replace("/documents/"), [router]);
  return null;
}
