import { Suspense } from "react";

import { SkeletonBlock } from "@/components/feedback";
import { Providers } from "@/features/settings/providers";

export default function ProvidersPage() {
  return (
    <Suspense fallback={<SkeletonBlock lines={8} />}>
      <Providers />
    </Suspense>
  );
}
