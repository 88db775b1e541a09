import type { JSX } from 'preact';
import { useQuery } from '../../app/router.js';
import { useLoad } from '../../api/load.js';
import { useSession } from '../../api/session.js';
import { counted, numberText } from '../../ui/format.js';
import { Panel, When } from '../../ui/parts.js';
import { Inclusion } from './inclusion.js';
import { Verify } from './verify.js';

/** Whether the ledger is what it was: for those who want to look, and for those who want to check. */
export function Proof(): JSX.Element {
  const { client } = useSession();
  const asked = Number(useQuery().get('entry') ?? '');
  const checkpoint = useLoad((signal) => client.get('/api/v1/provenance/checkpoint', { signal }), [client]);
  return (
    <>
      <header class="screen-head">
        <div>
          <h1>Proof</h1>
          <p class="quiet">Every change is an entry, every entry has a hash, and all hashes have one root.</p>
        </div>
      </header>
      <div class="decision">
        <When of={checkpoint} what="the checkpoint">
          {({ size, origin, rootHash, checkpoint: note }) => (
            <>
              <Panel title="The ledger now">
                <dl class="pairs">
                  <dt>Head</dt>
                  <dd>{size === 0 ? 'empty' : `entry ${numberText(size)}`}</dd>
                  <dt>Root</dt>
                  <dd>
                    <code class="hash">{rootHash}</code>
                  </dd>
                  <dt>Log</dt>
                  <dd>{origin}</dd>
                  <dt>Checkpoint</dt>
                  <dd>
                    <pre class="note" tabIndex={0} role="region" aria-label="Checkpoint">
                      {note}
                    </pre>
                    <p class="help">
                      Signed by the service. Keep a copy elsewhere: it shows later whether these{' '}
                      {counted(size, 'entry', 'entries')} are still the same.
                    </p>
                  </dd>
                </dl>
              </Panel>
              <Verify entries={size} />
              <Inclusion key={asked} asked={asked > 0 ? asked : size} size={size} />
            </>
          )}
        </When>
        <Panel title="Check it yourself">
          <p>
            Whoever does not trust this page downloads the ledger and verifies it with a program that shares no code
            with the service:
          </p>
          <pre class="note" tabIndex={0} role="region" aria-label="Commands">
            {`curl -sS -H "X-API-Key: $API_KEY" ${location.origin}/api/v1/provenance/export > ledger.ndjson
npm run verify -- ledger.ndjson`}
          </pre>
        </Panel>
      </div>
    </>
  );
}
