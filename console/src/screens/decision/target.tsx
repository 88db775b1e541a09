import type { JSX } from 'preact';
import { useCallback, useState } from 'preact/hooks';
import { useFeed } from '../../api/use-feed.js';
import { type LoadState, useLoad } from '../../api/load.js';
import { useSession } from '../../api/session.js';
import { Needs, Panel, When } from '../../ui/parts.js';
import { countText } from '../../ui/format.js';
import { useHidden } from '../../ui/hidden.js';
import { areClaimsEqual, claimsDifferences } from './changes.js';
import { useConfirm } from './confirm.js';
import { EntityPanel } from './entity-claims.js';
import { batchesOf, type EntityWithClaims, loadEntityClaims, type MentionedEntity } from './mentioned-entities.js';

interface TargetProps {
  readonly target: LoadState<readonly MentionedEntity[]>;
  readonly isAllowed: boolean;
  /** The values of the request. */
  readonly requestInput: unknown;
}

/** The entity that the action is about, and the claims about it. */
export function Target({ target, isAllowed, requestInput }: TargetProps): JSX.Element {
  const [looks, setLooks] = useState(1);
  /** Maps ids to what was shown until it turned out to be different: a batch is mounted anew when its entities change. */
  const [before, setBefore] = useState<Before>(new Map());
  const remember = useCallback((entities: readonly EntityWithClaims[]) => {
    setBefore((now) => new Map([...now, ...entities.map((entity) => [entity.id, entity] as const)]));
  }, []);
  const mentioned = target.data ?? [];
  const batches = batchesOf(mentioned, looks);
  const remainingCount = mentioned.length - batches.flat().length;
  const more = `${countText(remainingCount, 'more entity', 'more entities')} named in the request`;
  useHidden(remainingCount === 0 ? null : more);
  const values = valuesIn(requestInput);
  return (
    <Panel title="What is known about the target">
      {isAllowed ? (
        <When load={target} label="the target">
          {() =>
            batches.length === 0 ? (
              <p class="quiet">No entity is registered under this type and name, so there are no claims about it.</p>
            ) : (
              batches.map((batch) => (
                <Batch
                  key={keyOf(batch)}
                  mentioned={batch}
                  requestValues={values}
                  before={before}
                  remember={remember}
                />
              ))
            )
          }
        </When>
      ) : (
        <Needs scope="read" label="Seeing entities and claims" />
      )}
      {remainingCount === 0 ? null : (
        <button type="button" class="unfold" onClick={() => setLooks(looks + 1)}>
          Look up {more}
        </button>
      )}
    </Panel>
  );
}

type Before = ReadonlyMap<string, EntityWithClaims>;

interface BatchProps {
  readonly mentioned: readonly MentionedEntity[];
  readonly requestValues: ReadonlySet<string>;
  readonly before: Before;
  readonly remember: (entities: readonly EntityWithClaims[]) => void;
}

/** Entities that are looked up together. */
function Batch({ mentioned, requestValues, before, remember }: BatchProps): JSX.Element {
  const session = useSession();
  const claimsLoad = useLoad((signal) => loadEntityClaims(session, mentioned, signal), [session]);
  useConfirm(async (scrutiny) => {
    const change = await claimsLoad.confirm((now, before) => areClaimsEqual(now, before, scrutiny, requestValues));
    if (change === null) return [];
    remember(change.before ?? []);
    return claimsDifferences(change, requestValues);
  }, claimsLoad.retry);
  useFeed(claimsLoad.retry, () => false);
  const fault = claimsLoad.error === null ? 'still loading' : 'could not be loaded';
  useHidden(
    claimsLoad.data !== null && claimsLoad.error === null
      ? null
      : `${countText(mentioned.length, 'entity', 'entities')}, ${fault}`,
  );
  return (
    <When load={claimsLoad} label="the target">
      {(data) =>
        data.map((entity) => (
          <EntityPanel
            key={entity.id}
            entityClaims={entity}
            before={before.get(entity.id)}
            requestValues={requestValues}
          />
        ))
      }
    </When>
  );
}

/** A key that changes with the members of a batch. */
function keyOf(batch: readonly MentionedEntity[]): string {
  return batch
    .map((mention) => (typeof mention === 'string' ? mention : `${mention.id} ${mention.revision}`))
    .join(' ');
}

/** Every value in the arguments, as text. */
function valuesIn(input: unknown): ReadonlySet<string> {
  if (typeof input !== 'object' || input === null) return new Set([String(input)]);
  return new Set(Object.values(input).flatMap((value) => [...valuesIn(value)]));
}
