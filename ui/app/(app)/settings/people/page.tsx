import { Suspense } from "react";

import { SkeletonBlock } from "@/components/feedback";
import { People } from "@/features/settings/people";

export default function PeoplePage() {
  return (
    <Suspense fallback={<SkeletonBlock lines={8} />}>
      <People />
    </Suspense>
  );
}
