import { addClaim, createEntity, createPolicy, issueKey } from '../../support/application/factories';
import { send } from '../../support/application/send';
import { describeInBrowser, type Page, signIn } from '../browser';
import { companyStage } from '../company';

/** Letters from right to left, among digits and slashes whose places a page would swap. */
const MIXED = 'א/12/34 ב-5';

/**
 * A function of the page: it returns the characters of elements in the order in which they stand from left to right.
 */
const FROM_LEFT_TO_RIGHT = `(element) => {
  const places = [];
  const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
    for (let at = 0; at < node.data.length; at += 1) {
      const range = document.createRange();
      range.setStart(node, at);
      range.setEnd(node, at + 1);
      places.push([node.data[at], range.getBoundingClientRect()]);
    }
  }
  const lines = places.sort(([, one], [, other]) => one.top - other.top || one.left - other.left);
  return lines.map(([text]) => text).join('');
}`;

describeInBrowser('Two requests that differ look different in the console', () => {
  const stage = companyStage();

  async function ask(resourceId: string, parameters: Readonly<Record<string, unknown>> = {}): Promise<string> {
    const { program, bot } = stage.company;
    const { status, body } = await send(program, 'POST', '/api/v1/agents/payment-bot/execute', {
      key: bot.key,
      body: {
        action: 'pay-invoice',
        resourceType: 'supplier',
        resourceId,
        parameters: { amount: 20_000, ...parameters },
      },
    });
    expect([status, body.error]).toEqual([202, undefined]);
    return body.decisionId;
  }

  async function open(path: string, key = stage.company.sara.key): Promise<Page> {
    const page = await stage.browser.open(`${stage.company.program.url}/console/${path}`);
    await signIn(page, key);
    return page;
  }

  it('in the order of their characters, whatever the direction of the letters', async () => {
    const page = await open(`decisions/${await ask(MIXED, { account: MIXED })}`);
    const order = (selector: string): Promise<string> =>
      page.evaluate(`(${FROM_LEFT_TO_RIGHT})([...document.querySelectorAll(${JSON.stringify(selector)})]
        .find(({ textContent }) => textContent.includes(${JSON.stringify(MIXED)})))`);
    await page.getByRole('region', { name: 'Arguments' }).waitFor();
    expect(await order('h1 bdi')).toBe(MIXED);
    expect(await order('.pairs code')).toBe(`supplier/${MIXED}`);
    expect(await order('.json pre')).toContain(`"account": "${MIXED}"`);
    await page.goto(stage.company.program.url + '/console/inbox');
    await signIn(page, stage.company.sara.key);
    await page.getByRole('link', { name: MIXED }).waitFor();
    expect(await order('.row strong bdi')).toContain(`supplier/${MIXED}`);
  });

  it('in spaces that look alike, in repeated ones, and in escapes that were typed', async () => {
    const hidden = 'a\u00a0b\u3000c\ufffcd  e';
    const page = await open(`decisions/${await ask(hidden, { 'a\u00a0b': 'c\u3000 \ufffc  d\\u3000' })}`);
    const escapedText = 'a\\u00a0b\\u3000c\\ufffcd \\u0020e';
    await page.getByText(`supplier/${escapedText}`, { exact: true }).waitFor();
    expect(await page.getByRole('heading', { level: 1 }).innerText()).toContain(escapedText);
    const argumentsText = await page.getByRole('region', { name: 'Arguments' }).innerText();
    expect(argumentsText).toContain('"a\\u00a0b": "c\\u3000 \\ufffc  d\\\\u3000"');
    const { program } = stage.company;
    const title = 'x\\u00a0y\\\u00a0z';
    const proposal = { type: 'name', title, proposedBy: 'payment-bot', riskLevel: 'low' };
    const proposed = await send(program, 'POST', '/api/v1/decisions', { key: program.key, body: proposal });
    await page.goto(`${program.url}/console/decisions/${String(proposed.body.id)}`);
    await signIn(page, stage.company.sara.key);
    await page.getByRole('heading', { level: 1, name: 'x\\\\u00a0y\\\\\\u00a0z', exact: true }).waitFor();
  });

  it('in entities of one name, whose ids are shown', async () => {
    const { program } = stage.company;
    const twins = [1, 2].map(() => createEntity(program, { type: 'supplier', name: 'Twin GmbH', properties: {} }));
    const [one, other] = (await Promise.all(twins)).map(({ id }) => id);
    await addClaim(program, String(other), { predicate: 'blocked', value: true });
    const page = await open(`decisions/${await ask(`prod/${String(one)}`, { replaces: other })}`);
    const target = page.getByRole('region', { name: 'What is known about the target' });
    for (const id of [one, other])
      await target.getByRole('heading', { name: `Twin GmbH supplier ${String(id)}`, exact: true }).waitFor();
    await page.getByRole('heading', { level: 1, name: `prod/Twin GmbH ${String(one)}` }).waitFor();
    await page.getByRole('link', { name: '← Inbox' }).click();
    await page.getByRole('link', { name: `pay-invoice on supplier/prod/Twin GmbH ${String(one)}` }).waitFor();
  });

  it('in the argument with which a condition compares another, on whose behalf it may be', async () => {
    const { program, sara } = stage.company;
    const conditions = [{ parameter: '/amount', op: 'gt', value: { parameter: '/limit' } }];
    const approval = { approvers: [{ subjects: ['role:security'] }] };
    const rules = { name: 'beyond', effect: 'require_approval', actions: ['read-invoice'], conditions, approval };
    await createPolicy(program, rules);
    const request = {
      action: 'read-invoice',
      resourceType: 'supplier',
      resourceId: '7',
      parameters: { amount: 5, limit: 3 },
    };
    const body = { ...request, onBehalfOf: { subject: 'user:eva' } };
    const { decisionId } = (await send(program, 'POST', '/api/v1/agents/payment-bot/execute', { body })).body;
    const page = await open(`decisions/${decisionId}`, sara.key);
    const why = page.getByRole('region', { name: 'Why it needs approval' });
    await why.getByText('/amount is more than /limit, here 3; here it is 5').waitFor();
    await why.getByRole('heading', { name: 'Why it is not allowed without approval' }).waitFor();
    expect(await why.innerText()).not.toContain('is not shown');
  });

  it('in the key that acted, although it names the same agent', async () => {
    const { program } = stage.company;
    const { id, secret } = await issueKey(program, { name: 'of nobody', scopes: ['execute'] });
    const response = await send(program, 'POST', '/api/v1/agents/payment-bot/execute', {
      key: secret,
      body: {
        action: 'pay-invoice',
        resourceType: 'supplier',
        resourceId: 'by another key',
        parameters: { amount: 1 },
      },
    });
    expect([response.status, response.body.outcome]).toEqual([200, 'authorized']);
    const page = await open('activity');
    await page.getByText('by another key').waitFor();
    const entry = page.getByRole('main').getByRole('listitem').filter({ hasText: 'by another key' });
    expect(await entry.innerText()).toContain(`by payment-bot (key ${id.slice(-6)})`);
  });
});
