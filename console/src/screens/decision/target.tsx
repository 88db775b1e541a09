import type { JSX } from 'preact';
import type { Loaded } from '../../api/load.js';
import type { Claim } from '../../api/types.js';
import { counted } from '../../ui/format.js';
import { Json } from '../../ui/json.js';
import { Badge, Needs, Panel, When } from '../../ui/parts.js';
import { At } from '../../ui/time.js';
import type { KnownEntity } from './case.js';

interface TargetProps {
  readonly target: Loaded<readonly KnownEntity[]>;
  readonly isAllowed: boolean;
}

/** The entity that the action is about, and what is claimed of it. */
export function Target({ target, isAllowed }: TargetProps): JSX.Element {
  return (
    <Panel title="What is known about the target">
      {isAllowed ? (
        <When of={target} what="the target">
          {(entities) =>
            entities.length === 0 ? (
              <p class="quiet">No entity is registered under this type and name, so nothing is claimed about it.</p>
            ) : (
              entities.map((known) => <Known key={known.entity.id} known={known} />)
            )
          }
        </When>
      ) : (
        <Needs scope="read" what="Seeing entities and claims" />
      )}
    </Panel>
  );
}

function Known({ known: { entity, claims } }: { readonly known: KnownEntity }): JSX.Element {
  const predicates = [...new Set(claims.map(({ predicate }) => predicate))];
  return (
    <article class="entity">
      <h3>
        {entity.name} <small>{entity.type}</small>
      </h3>
      {Object.keys(entity.properties).length === 0 ? null : (
        <Json value={entity.properties} label={`Properties of ${entity.name}`} />
      )}
      {claims.length === 0 ? <p class="quiet">Nothing is claimed about it.</p> : null}
      {predicates.map((predicate) => (
        <Predicate
          key={predicate}
          predicate={predicate}
          claims={claims.filter((claim) => claim.predicate === predicate)}
        />
      ))}
    </article>
  );
}

/** All claims of one kind, next to each other where they contradict. */
function Predicate({
  predicate,
  claims,
}: {
  readonly predicate: string;
  readonly claims: readonly Claim[];
}): JSX.Element {
  const values = new Set(claims.map(({ value }) => value));
  return (
    <div class={`predicate ${values.size > 1 ? 'contradictory' : ''}`}>
      <h4>
        {predicate}{' '}
        {values.size > 1 ? <Badge value="high" text={`${counted(values.size, 'claim')} that contradict`} /> : null}
      </h4>
      <ul class="claims">
        {claims.map((claim) => (
          <li key={claim.id} class="claim">
            <strong>{String(claim.value)}</strong>
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
  const percent = Math.round(confidence * 100);
  return (
    <span class="confidence">
      <meter min={0} max={1} low={0.5} high={0.8} optimum={1} value={confidence} aria-label="Confidence" /> {percent} %
      sure
    </span>
  );
}

/** Who says so, where the claim tells. */
function sourceOf(context: Claim['context']): string {
  const { source } = context;
  return typeof source === 'string' ? `${source} ·` : '';
}
