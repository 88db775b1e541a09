import type { JSX } from 'preact';
import { useQuery } from '../../app/router.js';
import { serviceNow } from '../../api/clock.js';
import { useLoad } from '../../api/load.js';
import { useSession } from '../../api/session.js';
import { When } from '../../ui/parts.js';
import { CheckpointPanel } from './checkpoint.js';
import { Download } from './download.js';
import { Inclusion } from './inclusion.js';
import { checkNote } from './note.js';
import { Recompute } from './recompute.js';
import { Verify } from './verify.js';

/** Shows that the ledger is unaltered, and lets people check that themselves. */
export function Proof(): JSX.Element {
  const { client } = useSession();
  const asked = Number(useQuery().get('entry') ?? '');
  const checkpoint = useLoad(
    async (signal) => {
      const said = await client.get('/api/v1/provenance/checkpoint', { signal });
      return { said, at: new Date(serviceNow()).toISOString(), signature: await checkNote(said) };
    },
    [client],
  );
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
          {({ said, at, signature }) => (
            <>
              <CheckpointPanel of={said} at={at} signature={signature} reload={checkpoint.reload} />
              <Verify of={said} />
              {said.size === 0 ? null : <Inclusion asked={asked > 0 ? asked : said.size} checkpoint={said} />}
              <Download of={said} />
            </>
          )}
        </When>
        <Recompute />
      </div>
    </>
  );
}
