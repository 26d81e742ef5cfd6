import { Suspense } from "react";

import { SkeletonBlock } from "@/components/feedback";
import { Usage } from "@/features/usage/usage";

export default function UsagePage() {
  return (
    <Suspense fallback={<SkeletonBlock lines={8} />}>
      <Usage />
    </Suspense>
  );
}
