import { createContext } from 'preact';
import { useCallback, useContext, useId, useLayoutEffect, useState } from 'preact/hooks';

type Report = (id: string, what: string | null) => void;

/** Collects parts that are folded or not loaded yet. Approving is disabled until there are none. */
export const HiddenContext = createContext<Report>(() => undefined);

/** Reports that a part of the page is hidden, with a readable name; null once it is shown. */
export function useHidden(what: string | null): void {
  const report = useContext(HiddenContext);
  const id = useId();
  // Before the browser paints, so that Approve is never enabled for a moment.
  useLayoutEffect(() => {
    report(id, what);
    return () => report(id, null);
  }, [report, id, what]);
}

export function useHiddenParts(): { readonly parts: readonly string[]; readonly report: Report } {
  const [hidden, setHidden] = useState<ReadonlyMap<string, string>>(new Map());
  const report = useCallback((id: string, what: string | null) => {
    setHidden((now) => {
      if (now.get(id) === (what ?? undefined)) return now;
      const others = [...now].filter(([known]) => known !== id);
      return new Map(what === null ? others : [...others, [id, what]]);
    });
  }, []);
  return { parts: [...hidden.values()], report };
}
