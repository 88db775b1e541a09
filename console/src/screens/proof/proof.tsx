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
  const sequence = Number(useQuery().get('entry') ?? '');
  const checkpoint = useLoad(
    async (signal) => {
      const checkpointData = await client.get('/api/v1/provenance/checkpoint', { signal });
      return {
        checkpointData,
        time: new Date(serviceNow()).toISOString(),
        signature: await checkNote(checkpointData),
      };
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
        <When load={checkpoint} label="the checkpoint">
          {({ checkpointData, time, signature }) => (
            <>
              <CheckpointPanel head={checkpointData} time={time} signature={signature} reload={checkpoint.reload} />
              <Verify checkpoint={checkpointData} />
              {checkpointData.size === 0 ? null : (
                <Inclusion sequence={sequence > 0 ? sequence : checkpointData.size} checkpoint={checkpointData} />
              )}
              <Download checkpoint={checkpointData} />
            </>
          )}
        </When>
        <Recompute />
      </div>
    </>
  );
}
