import type { JSX } from 'preact';
import { useQuery } from '../../app/router.js';
import { useLoad } from '../../api/load.js';
import { useSession } from '../../api/session.js';
import { When } from '../../ui/parts.js';
import { CheckpointPanel } from './checkpoint.js';
import { Download } from './download.js';
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
          <p class="quiet">
            Every change is an entry in the ledger. Each entry has a hash, and one root hash covers them all.
          </p>
        </div>
      </header>
      <div class="decision">
        <When of={checkpoint} what="the checkpoint">
          {(said) => (
            <>
              <CheckpointPanel of={said} />
              <Verify entries={said.size} />
              {said.size === 0 ? null : (
                <Inclusion key={asked} asked={asked > 0 ? asked : said.size} size={said.size} />
              )}
              <Download of={said} />
            </>
          )}
        </When>
      </div>
    </>
  );
}
