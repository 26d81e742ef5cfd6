import { Suspense } from "react";

import { SkeletonBlock } from "@/components/feedback";
import { Documents } from "@/features/documents/documents";

export default function DocumentsPage() {
  return (
    <Suspense fallback={<SkeletonBlock lines={8} />}>
      <Documents />
    </Suspense>
  );
}
