import type { JSX } from 'preact';
import { useLoad } from '../../api/load.js';
import { useSession } from '../../api/session.js';
import { useFeed } from '../../api/use-feed.js';
import { countText, showInvisible } from '../../ui/format.js';
import { Json } from '../../ui/json.js';
import { Link } from '../../ui/link.js';
import { Badge, Needs, Panel, When } from '../../ui/parts.js';
import { LocalTime } from '../../ui/time.js';
import { Trail } from '../activity/trail.js';
import { newestOf } from '../decision/changes.js';
import { evidenceIn } from '../decision/evidence.js';
import { Claims } from '../decision/entity-claims.js';
import { type EntityWithClaims, loadEntityClaims } from '../decision/mentioned-entities.js';

/** The values of a request that claims are compared with: none, since this screen shows no request. */
const NONE: ReadonlySet<string> = new Set();

/** One entity: its claims, their contradictions, and its history, which stays when the entity is deleted. */
export function EntityScreen({ id }: { readonly id: string }): JSX.Element {
  const session = useSession();
  const entityLoad = useLoad((signal) => loadEntityClaims(session, [id], signal), [session, id]);
  useFeed(
    entityLoad.reload,
    ({ action, subjectId, entityId }) => subjectId === id || (entityId === id && action.startsWith('claim.')),
  );
  return (
    <>
      <Link to="entities" class="back">
        ← Entities
      </Link>
      <div class="decision">
        <When load={entityLoad} label="the entity">
          {([entity]) => (entity === undefined ? null : <View entity={entity} />)}
        </When>
        <Panel title="History">
          {session.has('audit') ? (
            <Trail key={id} filter={{ entityId: id }} />
          ) : (
            <Needs scope="audit" label="Seeing its history" />
          )}
        </Panel>
      </div>
    </>
  );
}

function View({ entity: { id, registered } }: { readonly entity: EntityWithClaims }): JSX.Element {
  if (registered === null)
    return (
      <header>
        <h1 class="exact">{showInvisible(id)}</h1>
        <p class="notice warn">It is not registered, or not any more.</p>
      </header>
    );
  const { entity, claims } = registered;
  const contradictions = evidenceIn(claims.data, NONE).filter(({ values }) => values > 1).length;
  return (
    <>
      <header>
        <h1>
          <bdi>{showInvisible(entity.name)}</bdi> <span class="quiet exact">{showInvisible(entity.type)}</span>
        </h1>
        <p class="facts">
          {contradictions === 0 ? null : <Badge value="high" text={countText(contradictions, 'contradiction')} />}
          <span>
            since <LocalTime iso={entity.createdAt} />
          </span>
          {entity.revision === 1 ? null : (
            <span>
              changed <LocalTime iso={entity.updatedAt} />
            </span>
          )}
          <code class="id">{id}</code>
        </p>
      </header>
      {Object.keys(entity.properties).length === 0 ? null : (
        <Panel title="Properties">
          <Json value={entity.properties} label="Properties as JSON" />
        </Panel>
      )}
      <Panel title="Claims">
        <Claims
          key={`${claims.total} ${newestOf(claims)}`}
          {...{ entity, first: claims, seen: null, requestValues: NONE, heading: 'h3' }}
        />
      </Panel>
    </>
  );
}
