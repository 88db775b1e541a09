import type { JSX } from 'preact';
import type { Execution } from '../../api/types.js';
import { ReplacedValues } from '../../ui/replaced-values.js';
import { Json } from '../../ui/json.js';
import { Link } from '../../ui/link.js';
import { Panel } from '../../ui/parts.js';

/** Shows what the reviewer who rejected it would approve. */
export function Instead({
  execution: { instead },
}: {
  readonly execution: Pick<Execution, 'instead'>;
}): JSX.Element | null {
  if (instead === null) return null;
  const { parameters, grantId } = instead;
  return (
    <Panel title="What would be right">
      <Json value={parameters} label="What would be right" />
      <ReplacedValues value={parameters} />
      {grantId === null ? (
        <p class="quiet">The agent has to ask for it.</p>
      ) : (
        <p>
          It may be done once, by a <Link to={`grants/${grantId}`}>grant</Link>.
        </p>
      )}
    </Panel>
  );
}
