import type { Metadata } from "next";
import { Suspense } from "react";

import { SkeletonBlock } from "@/components/feedback";
import { Chat } from "@/features/chat/chat";

export const metadata: Metadata = { title: "Chat" };

export default function ChatPage() {
  return (
    <Suspense fallback={<SkeletonBlock lines={8} />}>
      <Chat />
    </Suspense>
  );
}
