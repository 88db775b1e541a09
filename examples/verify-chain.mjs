import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';

const { API = 'http://localhost:3000/api/v1', API_KEY } = process.env;

function canonical(value) {
  if (Array.isArray(value)) return `[${value.map(canonical).join()}]`;
  if (value === null || typeof value !== 'object') return JSON.stringify(value);
  const members = Object.keys(value)
    .sort()
    .map((key) => `${JSON.stringify(key)}:${canonical(value[key])}`);
  return `{${members.join()}}`;
}
const hashOf = (value) => createHash('sha256').update(canonical(value), 'utf8').digest('hex');

async function get(path) {
  const answer = await fetch(API + path, { headers: { 'X-API-Key': API_KEY } });
  if (answer.ok) return answer.json();
  if (answer.status !== 429) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
  await sleep(Number(answer.headers.get('Retry-After')) * 1000);
  return get(path);
}

/** True if an entry matches its hashes: in version 2 salted members are hashed apart. Erased contents have no hash. */
function isTrue({ audit, state, salts, hash, detailsHash, erased, ...sealed }) {
  if (hash !== hashOf(sealed)) return false;
  if (erased !== undefined) return true;
  if (sealed.v === 1) return sealed.auditHash === hashOf(audit) && sealed.stateHash === (state && hashOf(state));
  const { details, ip, reason, requestId, ...rest } = audit;
  return (
    detailsHash === hashOf({ details, ip, reason, requestId, salt: salts.details }) &&
    sealed.auditHash === hashOf({ ...rest, detailsHash }) &&
    sealed.stateHash === (state && hashOf({ salt: salts.state, state }))
  );
}

const { total } = await get('/provenance?limit=1');
let [previousHash, faults] = ['0'.repeat(64), 0];
for (let sequence = 1; sequence <= total; sequence += 1) {
  const entry = await get(`/provenance/${sequence}`);
  const isLinked = entry.sequence === sequence && entry.previousHash === previousHash;
  if (!isLinked || !isTrue(entry))
    console.log(`Entry ${sequence} ${isLinked ? 'has a wrong hash' : 'is not linked'}.`, (faults += 1));
  previousHash = entry.hash;
}
console.log(`${total} entries, ${faults} at fault, head ${previousHash}`);
