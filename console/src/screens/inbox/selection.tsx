import type { JSX } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { Decision, Review } from '../../api/types.js';
import { countText, numberText } from '../../ui/format.js';
import { isSelectable, MAX_TOGETHER } from './groups.js';

export type Verdict = Review['verdict'];

/** The decisions that are selected for one review. */
export interface Selection {
  readonly ids: ReadonlySet<string>;
  /** The review that is open; null while the list is shown. */
  readonly verdict: Verdict | null;
  /** Decisions whose boxes in the review are ticked. */
  readonly tickedIds: ReadonlySet<string>;
  /** Selects or deselects the decisions. Decisions that arrive later are not selected. */
  select(this: void, decisions: readonly Decision[], isSelected: boolean): void;
  /** Opens a review without ticks; null closes it. */
  review(this: void, verdict: Verdict | null): void;
  /** Ticks a box, or clears it. */
  tick(this: void, id: string): void;
}

const NONE: ReadonlySet<string> = new Set();

/** Kept above all screens: a person who looks at one decision and comes back finds the same selection. */
export function useSelection(): Selection {
  const [ids, setIds] = useState(NONE);
  const [tickedIds, setTickedIds] = useState(NONE);
  const [verdict, setVerdict] = useState<Verdict | null>(null);
  const select = (decisions: readonly Decision[], isSelected: boolean): void => {
    const changed = decisions.filter(isSelectable).map(({ id }) => id);
    setIds((now) => new Set(isSelected ? [...now, ...changed] : [...now].filter((id) => !changed.includes(id))));
  };
  const review = (next: Verdict | null): void => {
    setVerdict(next);
    setTickedIds(NONE);
  };
  const tick = (id: string): void =>
    setTickedIds((now) => new Set(now.has(id) ? [...now].filter((other) => other !== id) : [...now, id]));
  return { ids, verdict, tickedIds, select, review, tick };
}

interface SelectBoxProps {
  readonly decisions: readonly Decision[];
  readonly selection: Selection;
  /** Label for screen readers; without it, the label says that the box selects all decisions. */
  readonly label?: string;
}

/** A box that selects decisions; it is half full if some of them are selected. */
export function SelectBox({ decisions, selection, label }: SelectBoxProps): JSX.Element | null {
  const box = useRef<HTMLInputElement>(null);
  const selectable = decisions.filter(isSelectable);
  const selectedCount = selectable.filter(({ id }) => selection.ids.has(id)).length;
  const isWhole = selectedCount === selectable.length;
  useLayoutEffect(() => {
    if (box.current !== null) box.current.indeterminate = selectedCount > 0 && !isWhole;
  }, [selectedCount, isWhole]);
  if (selectable.length === 0) return null;
  return (
    <label class="check select">
      <input
        ref={box}
        type="checkbox"
        checked={isWhole}
        onChange={(event) => selection.select(selectable, event.currentTarget.checked)}
        {...(label === undefined ? {} : { 'aria-label': label })}
      />
      {label === undefined ? ` Select all ${numberText(selectable.length)}` : null}
    </label>
  );
}

interface SelectionBarProps {
  readonly count: number;
  /** Number of selected decisions that the filter hides. */
  readonly hiddenCount: number;
  readonly onReview: (verdict: Verdict) => void;
  readonly onClear: () => void;
}

/** The buttons for the selected decisions, at the lower edge of the window. */
export function SelectionBar({ count, hiddenCount, onReview, onClear }: SelectionBarProps): JSX.Element {
  const notes = [
    ...(hiddenCount === 0 ? [] : [`${numberText(hiddenCount)} hidden by the filter`]),
    ...(count > MAX_TOGETHER ? [`${MAX_TOGETHER} at a time`] : []),
  ];
  return (
    <section class="selection buttons" aria-label="Selected requests">
      <span role="status">
        {countText(count, 'request')} selected{notes.length === 0 ? '' : ` (${notes.join(', ')})`}
      </span>
      <button type="button" class="primary" onClick={() => onReview('approve')}>
        Approve selected
      </button>
      <button type="button" class="danger" onClick={() => onReview('reject')}>
        Reject selected
      </button>
      <button type="button" onClick={onClear}>
        Clear
      </button>
    </section>
  );
}
