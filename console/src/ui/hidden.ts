import { createContext } from 'preact';
import { useCallback, useContext, useId, useLayoutEffect, useState } from 'preact/hooks';

type Report = (id: string, label: string | null) => void;

/** Collects parts that are folded or not loaded yet. Approving is disabled until there are none. */
export const HiddenContext = createContext<Report>(() => undefined);

/** Reports that a part of the page is hidden, with a readable name; null once it is shown. */
export function useHidden(label: string | null): void {
  const report = useContext(HiddenContext);
  const id = useId();
  // Before the browser paints, so that Approve is never enabled for a moment.
  useLayoutEffect(() => {
    report(id, label);
    return () => report(id, null);
  }, [report, id, label]);
}

export function useHiddenParts(): { readonly parts: readonly string[]; readonly report: Report } {
  const [hidden, setHidden] = useState<ReadonlyMap<string, string>>(new Map());
  const report = useCallback((id: string, label: string | null) => {
    setHidden((now) => {
      if (now.get(id) === (label ?? undefined)) return now;
      const otherLabels = [...now].filter(([labelId]) => labelId !== id);
      return new Map(label === null ? otherLabels : [...otherLabels, [id, label]]);
    });
  }, []);
  return { parts: [...hidden.values()], report };
}
