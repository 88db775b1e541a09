import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { useSession } from '../../api/session.js';
import type { Claim, Entity } from '../../api/types.js';
import { countText, numberText, percentText, showInvisible } from '../../ui/format.js';
import { useHidden } from '../../ui/hidden.js';
import { Json } from '../../ui/json.js';
import { Badge, Problem } from '../../ui/parts.js';
import { LocalTime } from '../../ui/time.js';
import { newestOf } from './changes.js';
import { type Evidence, evidenceIn, isDoubtful } from './evidence.js';
import { type ClaimPage, type EntityWithClaims, moreClaims } from './mentioned-entities.js';

interface EntityPanelProps {
  readonly entityClaims: EntityWithClaims;
  /** The entity as it was shown before it changed; claims that are newer are marked. */
  readonly before: EntityWithClaims | undefined;
  /** The values in the request. */
  readonly requestValues: ReadonlySet<string>;
}

/** One entity that the request names. */
export function EntityPanel({
  entityClaims: { id, registered },
  before,
  requestValues,
}: EntityPanelProps): JSX.Element {
  if (registered === null) {
    return (
      <p class="notice warn">
        <code>{id}</code> is named in the request and not registered.
      </p>
    );
  }
  const { entity, claims } = registered;
  const registeredBefore = before?.registered ?? null;
  const seen = registeredBefore === null ? null : newestOf(registeredBefore.claims);
  const name = showInvisible(entity.name);
  return (
    <article class="entity">
      <h3>
        <bdi>{name}</bdi> <small class="exact">{showInvisible(entity.type)}</small> <code class="id">{entity.id}</code>
      </h3>
      {Object.keys(entity.properties).length === 0 ? null : (
        <Json value={entity.properties} label={`Properties of ${name}`} />
      )}
      {/* Further pages belong to these claims only. */}
      <Claims
        key={`${claims.total} ${newestOf(claims)}`}
        {...{ entity, first: claims, seen, requestValues, heading: 'h4' }}
      />
    </article>
  );
}

interface ClaimsProps {
  readonly entity: Entity;
  readonly first: ClaimPage;
  /** The newest claim that was shown before; null if they are all shown for the first time. */
  readonly seen: string | null;
  readonly requestValues: ReadonlySet<string>;
  /** The heading of each kind of claim. */
  readonly heading: 'h3' | 'h4';
}

/** Every claim about an entity: a page at a time, with the number that remain. */
export function Claims({ entity, first, seen, requestValues, heading }: ClaimsProps): JSX.Element {
  const session = useSession();
  const [{ data, total, nextCursor }, setPage] = useState<ClaimPage>(first);
  const [error, setError] = useState<unknown>(null);
  const [busy, setBusy] = useState(false);
  const name = showInvisible(entity.name);
  // A claim added in the meantime is on no page.
  const remainingCount = nextCursor === undefined ? 0 : Math.max(1, total - data.length);
  useHidden(remainingCount === 0 ? null : `${countText(remainingCount, 'claim')} about ${name}`);
  const showMore = async (cursor: string): Promise<void> => {
    setBusy(true);
    setError(null);
    try {
      const page = await moreClaims(session, entity.id, cursor);
      setPage((now) => ({ ...page, data: [...now.data, ...page.data] }));
    } catch (reason) {
      setError(reason);
    }
    setBusy(false);
  };
  return (
    <div class="entity">
      {data.length === 0 ? <p class="quiet">There are no claims about it.</p> : null}
      {evidenceIn(data, requestValues).map((evidence) => (
        <Predicate key={evidence.predicate} evidence={evidence} seen={seen} heading={heading} />
      ))}
      {error === null ? null : <Problem error={error} />}
      {nextCursor === undefined ? null : (
        <>
          <p class="notice warn">
            {numberText(data.length)} of {countText(total, 'claim')} are shown. Those that follow may contradict them.
          </p>
          <button type="button" class="unfold" disabled={busy} onClick={() => void showMore(nextCursor)}>
            Show more claims: {numberText(remainingCount)} left
          </button>
        </>
      )}
    </div>
  );
}

interface PredicateProps extends Pick<ClaimsProps, 'seen' | 'heading'> {
  readonly evidence: Evidence;
}

/** All claims of one kind, side by side if they contradict each other. */
function Predicate({ evidence, seen, heading: Heading }: PredicateProps): JSX.Element {
  const { predicate, claims, values } = evidence;
  const isContradictory = values > 1;
  // The decision may depend on which of several values is meant.
  const used = isContradictory ? evidence.used : [];
  const doubtful = used.filter((claim) => isDoubtful(claim, evidence));
  return (
    <div class={`predicate ${isContradictory ? 'contradictory' : ''}`}>
      <Heading>
        <bdi class="exact">{showInvisible(predicate)}</bdi>{' '}
        {isContradictory ? <Badge value="high" text={`${numberText(values)} contradicting values`} /> : null}
      </Heading>
      {doubtful.length === 0 ? null : (
        <p class="notice warn">The request uses a value that is less certain than another one.</p>
      )}
      <ul class="claims">
        {claims.map((claim) => (
          <li key={claim.id} class="claim">
            <strong>
              <bdi class="exact">{showInvisible(String(claim.value))}</bdi>
            </strong>
            {seen !== null && claim.id > seen ? <Badge value="medium" text="new" /> : null}
            {used.includes(claim) ? (
              <Badge value={doubtful.includes(claim) ? 'high' : 'medium'} text="in this request" />
            ) : null}
            <Context claim={claim} />
          </li>
        ))}
      </ul>
    </div>
  );
}

/** The confidence of a claim, its source, and the other members of its context. */
function Context({ claim: { context, createdAt, predicate } }: { readonly claim: Claim }): JSX.Element {
  const { confidence, source, ...otherMembers } = context;
  const isStated = typeof confidence === 'number';
  const isSourced = typeof source === 'string';
  const members = { ...otherMembers, ...(isStated ? {} : { confidence }), ...(isSourced ? {} : { source }) };
  const hasRest = Object.values(members).some((value) => value !== undefined);
  return (
    <>
      {isStated ? (
        <span class="confidence">
          <meter min={0} max={1} low={0.5} high={0.8} optimum={1} value={confidence} aria-label="Confidence" />{' '}
          {percentText(confidence)} sure
        </span>
      ) : (
        <small class="quiet">confidence not stated</small>
      )}
      <small>
        {isSourced ? <bdi>{showInvisible(source)}</bdi> : null}
        {isSourced ? ' · ' : ''}
        <LocalTime iso={createdAt} />
      </small>
      {hasRest ? <Json value={members} label={`Context of a claim about ${showInvisible(predicate)}`} /> : null}
    </>
  );
}
