import type { JSX } from 'preact';
import type { Loaded } from '../../api/load.js';
import { Needs, Panel, When } from '../../ui/parts.js';
import { counted } from '../../ui/format.js';
import { useHidden } from '../../ui/hidden.js';
import type { FoundTarget } from './case.js';
import { Known } from './known.js';

interface TargetProps {
  readonly target: Loaded<FoundTarget>;
  readonly isAllowed: boolean;
  /** What the request is made with. */
  readonly given: unknown;
  readonly showMore: () => void;
}

/** The entity that the action is about, and what is claimed about it. */
export function Target({ target, isAllowed, given, showMore }: TargetProps): JSX.Element {
  const remaining = target.data?.remaining ?? 0;
  const more = `${counted(remaining, 'more entity', 'more entities')} named in the request`;
  useHidden(remaining === 0 ? null : more);
  const values = valuesIn(given);
  return (
    <Panel title="What is known about the target">
      {isAllowed ? (
        <When of={target} what="the target">
          {({ entities }) =>
            entities.length === 0 ? (
              <p class="quiet">No entity is registered under this type and name, so there are no claims about it.</p>
            ) : (
              entities.map((known) => <Known key={known.entity.id} known={known} given={values} />)
            )
          }
        </When>
      ) : (
        <Needs scope="read" what="Seeing entities and claims" />
      )}
      {remaining === 0 ? null : (
        <button type="button" class="unfold" onClick={showMore}>
          Look up {more}
        </button>
      )}
    </Panel>
  );
}

/** Every value in the arguments, as text. */
function valuesIn(given: unknown): ReadonlySet<string> {
  if (typeof given !== 'object' || given === null) return new Set([String(given)]);
  return new Set(Object.values(given).flatMap((value) => [...valuesIn(value)]));
}
