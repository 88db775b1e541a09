import { createInterface } from 'node:readline';
import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';

/** The name under which `fetch` keeps its connections. */
const DISPATCHER = Symbol.for('undici.globalDispatcher.1');
const [, , main] = process.argv;
const { stdin, stdout } = process;
let runs = 0;

// For each line, the words of a command line of `gov` and its surroundings, prints a line with what the program does.
for await (const line of createInterface({ input: stdin })) {
  stdout.write(`${JSON.stringify(await run(JSON.parse(line)))}\n`);
}

/** The program itself is loaded anew, what it imports is not. */
async function run({ words, input, environment, folder }) {
  const before = heldOpen();
  const [output, errors] = [new PassThrough(), new PassThrough()];
  const printed = Promise.all([text(output), text(errors)]);
  const streams = { stdin: new PassThrough().end(input), stdout: output, stderr: errors };
  for (const [name, value] of Object.entries(streams)) Object.defineProperty(process, name, { value });
  // Not replaced by another object, which Node.js itself would not see.
  for (const name of Object.keys(process.env)) delete process.env[name];
  Object.assign(process.env, environment);
  Object.assign(process, { argv: [process.execPath, main, ...words], exitCode: undefined });
  process.chdir(folder);
  runs += 1;
  try {
    await import(`${pathToFileURL(main).href}?${runs}`);
    // As a process does that is not ended: it waits for what the program has left open.
    while (heldOpen() > before) await sleep(1);
  } catch (defect) {
    errors.write(`${defect.stack}\n`);
    process.exitCode = 1;
  }
  const { exitCode = 0 } = process;
  process.exitCode = undefined;
  await endConnections();
  output.end();
  errors.end();
  const [outputText, errorText] = await printed;
  return { exitCode, output: outputText, errors: errorText };
}

/** Counts the resources that keep the process from ending. */
function heldOpen() {
  // What is closed is about to be gone.
  return process.getActiveResourcesInfo().filter((kind) => kind !== 'CloseReq').length;
}

/** Ends connections as the end of a process does. */
async function endConnections() {
  const dispatcher = globalThis[DISPATCHER];
  if (dispatcher === undefined) return;
  globalThis[DISPATCHER] = new dispatcher.constructor();
  await dispatcher.destroy();
}
