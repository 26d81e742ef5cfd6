import { Suspense } from "react";

import { SkeletonBlock } from "@/components/feedback";
import { SearchTester } from "@/features/search/search-tester";

export default function SearchTesterPage() {
  return (
    <Suspense fallback={<SkeletonBlock lines={8} />}>
      <SearchTester />
    </Suspense>
  );
}
