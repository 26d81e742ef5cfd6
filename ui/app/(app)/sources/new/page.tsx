import { Suspense } from "react";

import { SkeletonBlock } from "@/components/feedback";
import { NewSource } from "@/features/sources/new-source";

export default function NewSourcePage() {
  return (
    <Suspense fallback={<SkeletonBlock lines={8} />}>
      <NewSource />
    </Suspense>
  );
}
