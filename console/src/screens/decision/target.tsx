import type { JSX } from 'preact';
import { useCallback, useState } from 'preact/hooks';
import { useFeed } from '../../api/use-feed.js';
import { type Loaded, useLoad } from '../../api/load.js';
import { useSession } from '../../api/session.js';
import { Needs, Panel, When } from '../../ui/parts.js';
import { counted } from '../../ui/format.js';
import { useHidden } from '../../ui/hidden.js';
import { isAsKnown, knownDifferences } from './changes.js';
import { useConfirm } from './confirm.js';
import { Known } from './entity-claims.js';
import { batchesOf, type EntityWithClaims, loadKnown, type MentionedEntity } from './mentioned-entities.js';

interface TargetProps {
  readonly target: Loaded<readonly MentionedEntity[]>;
  readonly isAllowed: boolean;
  /** The values of the request. */
  readonly given: unknown;
}

/** The entity that the action is about, and the claims about it. */
export function Target({ target, isAllowed, given }: TargetProps): JSX.Element {
  const [looks, setLooks] = useState(1);
  /** What was shown until it turned out to be different, by id: a batch is mounted anew when its entities change. */
  const [before, setBefore] = useState<Before>(new Map());
  const remember = useCallback((shown: readonly EntityWithClaims[]) => {
    setBefore((now) => new Map([...now, ...shown.map((one) => [one.id, one] as const)]));
  }, []);
  const meant = target.data ?? [];
  const batches = batchesOf(meant, looks);
  const remaining = meant.length - batches.flat().length;
  const more = `${counted(remaining, 'more entity', 'more entities')} named in the request`;
  useHidden(remaining === 0 ? null : more);
  const values = valuesIn(given);
  return (
    <Panel title="What is known about the target">
      {isAllowed ? (
        <When of={target} what="the target">
          {() =>
            batches.length === 0 ? (
              <p class="quiet">No entity is registered under this type and name, so there are no claims about it.</p>
            ) : (
              batches.map((batch) => (
                <Batch key={keyOf(batch)} of={batch} given={values} before={before} remember={remember} />
              ))
            )
          }
        </When>
      ) : (
        <Needs scope="read" what="Seeing entities and claims" />
      )}
      {remaining === 0 ? null : (
        <button type="button" class="unfold" onClick={() => setLooks(looks + 1)}>
          Look up {more}
        </button>
      )}
    </Panel>
  );
}

type Before = ReadonlyMap<string, EntityWithClaims>;

interface BatchProps {
  readonly of: readonly MentionedEntity[];
  readonly given: ReadonlySet<string>;
  readonly before: Before;
  readonly remember: (shown: readonly EntityWithClaims[]) => void;
}

/** Entities that are looked up together. */
function Batch({ of: meant, given, before, remember }: BatchProps): JSX.Element {
  const session = useSession();
  const known = useLoad((signal) => loadKnown(session, meant, signal), [session]);
  useConfirm(async (scrutiny) => {
    const change = await known.confirm((now, shown) => isAsKnown(now, shown, scrutiny, given));
    if (change === null) return [];
    remember(change.shown ?? []);
    return knownDifferences(change, given);
  }, known.retry);
  useFeed(known.retry, () => false);
  const fault = known.error === null ? 'still loading' : 'could not be loaded';
  useHidden(
    known.data !== null && known.error === null ? null : `${counted(meant.length, 'entity', 'entities')}, ${fault}`,
  );
  return (
    <When of={known} what="the target">
      {(data) => data.map((one) => <Known key={one.id} known={one} before={before.get(one.id)} given={given} />)}
    </When>
  );
}

/** A key that changes with the members of a batch. */
function keyOf(batch: readonly MentionedEntity[]): string {
  return batch.map((one) => (typeof one === 'string' ? one : `${one.id} ${one.revision}`)).join(' ');
}

/** Every value in the arguments, as text. */
function valuesIn(given: unknown): ReadonlySet<string> {
  if (typeof given !== 'object' || given === null) return new Set([String(given)]);
  return new Set(Object.values(given).flatMap((value) => [...valuesIn(value)]));
}
