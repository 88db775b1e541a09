/** Writes openapi.json, the API document of the built program, or prints it with `--print`. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ensureBuilt } from './ensure-built.mjs';
import { root } from './run.mjs';

await ensureBuilt();
const built = createRequire(join(root, 'dist', 'main.js'));
const { createApp } = built('./create-app.js');
const { ApiDocument } = built('./http/openapi/openapi.controller.js');

const folder = mkdtempSync(join(tmpdir(), 'openapi-'));
const application = await createApp({
  environment: { LOG_LEVEL: 'silent', DATABASE_URL: `sqlite:${join(folder, 'governance.db')}` },
});
const path = join(root, 'openapi.json');
const document = JSON.parse(application.get(ApiDocument).get().toString());
const text = `${JSON.stringify(document, null, 2)}\n`;
await application.close();
rmSync(folder, { recursive: true });
if (process.argv.includes('--print')) process.stdout.write(text);
else {
  writeFileSync(path, text);
  console.log(`Wrote ${path}`);
}
