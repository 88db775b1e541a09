import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { useSession } from '../../api/session.js';
import type { Claim, Entity } from '../../api/types.js';
import { counted, numberText, revealed } from '../../ui/format.js';
import { useHidden } from '../../ui/hidden.js';
import { Json } from '../../ui/json.js';
import { Badge, Problem } from '../../ui/parts.js';
import { At } from '../../ui/time.js';
import { type ClaimPage, type KnownEntity, moreClaims } from './meant.js';

interface KnownProps {
  readonly known: KnownEntity;
  /** The values in the request. */
  readonly given: ReadonlySet<string>;
}

/** One entity that the request names. */
export function Known({ known: { id, found }, given }: KnownProps): JSX.Element {
  if (found === null) {
    return (
      <p class="notice warn">
        <code>{id}</code> is named in the request and not registered.
      </p>
    );
  }
  const { entity, claims } = found;
  // What was added to the first page belongs to those claims only.
  return (
    <Claims
      key={`${claims.total} ${claims.newest ?? claims.data.at(-1)?.id ?? ''}`}
      {...{ entity, first: claims, given }}
    />
  );
}

interface ClaimsProps {
  readonly entity: Entity;
  readonly first: ClaimPage;
  readonly given: ReadonlySet<string>;
}

/** Every claim about an entity: a page at a time, and how many are left. */
function Claims({ entity, first, given }: ClaimsProps): JSX.Element {
  const session = useSession();
  const [{ data, total, nextCursor }, setPage] = useState<ClaimPage>(first);
  const [error, setError] = useState<unknown>(null);
  const [busy, setBusy] = useState(false);
  const name = revealed(entity.name);
  // A claim made meanwhile is not on any page.
  const rest = nextCursor === undefined ? 0 : Math.max(1, total - data.length);
  useHidden(rest === 0 ? null : `${counted(rest, 'claim')} about ${name}`);
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
  const predicates = [...new Set(data.map(({ predicate }) => predicate))];
  return (
    <article class="entity">
      <h3>
        <bdi>{name}</bdi> <small>{revealed(entity.type)}</small>
      </h3>
      {Object.keys(entity.properties).length === 0 ? null : (
        <Json value={entity.properties} label={`Properties of ${name}`} />
      )}
      {data.length === 0 ? <p class="quiet">There are no claims about it.</p> : null}
      {predicates.map((predicate) => (
        <Predicate
          key={predicate}
          predicate={predicate}
          claims={data.filter((claim) => claim.predicate === predicate)}
          given={given}
        />
      ))}
      {error === null ? null : <Problem error={error} />}
      {nextCursor === undefined ? null : (
        <>
          <p class="notice warn">
            {numberText(data.length)} of {counted(total, 'claim')} are shown. Those that follow may contradict them.
          </p>
          <button type="button" class="unfold" disabled={busy} onClick={() => void showMore(nextCursor)}>
            Show more claims: {numberText(rest)} left
          </button>
        </>
      )}
    </article>
  );
}

interface PredicateProps {
  readonly predicate: string;
  readonly claims: readonly Claim[];
  readonly given: ReadonlySet<string>;
}

/** All claims of one kind, next to each other where they contradict. */
function Predicate({ predicate, claims, given }: PredicateProps): JSX.Element {
  const values = new Set(claims.map(({ value }) => value));
  const isContradictory = values.size > 1;
  return (
    <div class={`predicate ${isContradictory ? 'contradictory' : ''}`}>
      <h4>
        {revealed(predicate)}{' '}
        {isContradictory ? <Badge value="high" text={`${numberText(values.size)} contradicting values`} /> : null}
      </h4>
      <ul class="claims">
        {claims.map((claim) => (
          <li key={claim.id} class="claim">
            <strong>
              <bdi>{revealed(String(claim.value))}</bdi>
            </strong>
            {/* Which of several values is meant is what the decision is about. */}
            {isContradictory && given.has(String(claim.value)) ? <Badge value="medium" text="in this request" /> : null}
            <Confidence context={claim.context} />
            <small>
              {sourceOf(claim.context)} <At at={claim.createdAt} />
            </small>
          </li>
        ))}
      </ul>
    </div>
  );
}

function Confidence({ context }: Pick<Claim, 'context'>): JSX.Element {
  const { confidence } = context;
  if (typeof confidence !== 'number') return <small class="quiet">confidence not stated</small>;
  return (
    <span class="confidence">
      <meter min={0} max={1} low={0.5} high={0.8} optimum={1} value={confidence} aria-label="Confidence" />{' '}
      {Math.round(confidence * 100)}% sure
    </span>
  );
}

/** Where the claim comes from, if it says so. */
function sourceOf(context: Claim['context']): string {
  const { source } = context;
  return typeof source === 'string' ? `${revealed(source)} ·` : '';
}
