import { addClaim, createEntity } from '../../support/application/factories';
import { send } from '../../support/application/send';
import { describeInBrowser, type Page, signIn } from '../browser';
import { companyStage } from '../company';
import { held, overflow } from '../look';

describeInBrowser("The console's entities", () => {
  const stage = companyStage();

  async function opened(path: string, key: string, look = {}): Promise<Page> {
    const page = await stage.browser.open(`${stage.company.program.url}/console/${path}`, look);
    await signIn(page, key);
    return page;
  }

  it('are listed by cursors, found by type and name, or by id, and leave the place of a reader alone', async () => {
    const { program, supplier, finn } = stage.company;
    const names = Array.from({ length: 60 }, (_, index) => `Customer ${index}`);
    await Promise.all(names.map((name) => createEntity(program, { type: 'customer', name })));
    const page = await opened('entities', finn.key);
    const rows = page.getByRole('main').getByRole('listitem');
    await page.getByText('61 entities').waitFor();
    expect(await rows.count()).toBe(50);
    const nextPageRequest = page.waitForRequest(/entities\?.*cursor=/);
    await page.getByRole('button', { name: 'Show more' }).press('Enter');
    expect(new URL((await nextPageRequest).url()).searchParams.has('offset')).toBe(false);
    await rows.nth(60).waitFor();
    expect(await page.getByRole('button', { name: 'Show more' }).count()).toBe(0);
    await page.getByLabel('Type').fill('supplier');
    await page.getByLabel('Type').press('Enter');
    await page.getByText('1 entity', { exact: true }).waitFor();
    await page.getByLabel('Name or id').fill('Customer 7');
    await page.getByRole('button', { name: 'Search' }).click();
    await page.getByText('An entity is found by its exact type and name, or by its id.').waitFor();
    await page.getByLabel('Name or id').fill(supplier.id);
    await page.getByRole('button', { name: 'Search' }).click();
    await page.getByRole('heading', { level: 1, name: 'Nordwind GmbH supplier' }).waitFor();
  });

  it('show their claims, contradictory ones first, and their history, which stays when they are gone', async () => {
    const { program, finn, sara } = stage.company;
    const { id } = await createEntity(program, { type: 'supplier', name: 'Südwind AG' });
    for (const [predicate, value] of [
      ['country', 'DE'],
      ['iban', 'DE02'],
      ['iban', 'DE89'],
    ] as const)
      await addClaim(program, id, { predicate, value });
    const gone = { expected: [/status of 404/] };
    const page = await opened(`entities/${id}`, sara.key, gone);
    await page.getByText('1 contradiction', { exact: true }).waitFor();
    const claims = page.getByRole('region', { name: 'Claims' });
    expect(await claims.getByRole('heading', { level: 3 }).allInnerTexts()).toEqual([
      'iban 2 contradicting values',
      'country',
    ]);
    await addClaim(program, id, { predicate: 'country', value: 'AT' });
    await page.getByText('2 contradictions').waitFor();
    // Which of two values is the surer is seen.
    for (const confidence of [0.996, 0.999])
      await addClaim(program, id, { predicate: 'lei', value: `for ${confidence}`, context: { confidence } });
    for (const text of ['99.6% sure', '99.9% sure']) await claims.getByText(text).waitFor();
    const history = page.getByRole('region', { name: 'History' }).getByRole('listitem');
    await history.filter({ hasText: 'Claim added' }).nth(3).waitFor();
    await send(program, 'DELETE', `/api/v1/entities/${id}`, { key: program.key });
    await page.getByText('It is not registered, or not any more.').waitFor();
    await history.filter({ hasText: 'Entity deleted' }).waitFor();
    const finns = await opened(`entities/${id}`, finn.key, gone);
    await finns.getByText(/Seeing its history needs audit/).waitFor();
  });

  it('do not grow while they are left open and many are added', async () => {
    const { program, sara } = stage.company;
    const page = await stage.browser.open(`${program.url}/console/entities`);
    await page.clock.install();
    await page.reload();
    await signIn(page, sara.key);
    const rows = page.getByRole('main').getByRole('listitem');
    const counts = [];
    for (let round = 0; round < 8; round += 1) {
      const names = Array.from({ length: 60 }, (_, index) => `Guest ${round} ${index}`);
      await Promise.all(names.map((name) => createEntity(program, { type: 'guest', name })));
      await page.clock.fastForward('10:00');
      await createEntity(program, { type: 'guest', name: `Last of ${round}` });
      await rows.filter({ hasText: `Last of ${round}` }).waitFor();
      counts.push(await held(page));
    }
    expect(await rows.count()).toBe(50);
    const [early, late] = [counts.slice(1, 4), counts.slice(4)];
    // What is under way at the moment holds some, now and then; what is kept for ever is held in every later round.
    expect(Math.min(...late.map(({ listeners }) => listeners))).toBeLessThanOrEqual(
      Math.max(...early.map(({ listeners }) => listeners)),
    );
    expect(counts.at(-1)?.nodes).toBeLessThan((counts[1]?.nodes ?? 0) * 1.2);
  });

  it('are harmless, whatever they are called, and however long what is claimed of them', async () => {
    const { program, sara } = stage.company;
    const name = `<img src=x onerror=alert(1)> \u202e001 ${'n'.repeat(200)}`;
    const { id } = await createEntity(program, { type: '\u202e<b>'.repeat(25), name, properties: { '<i>': name } });
    await addClaim(program, id, { predicate: '<script>', value: 'v'.repeat(10_000) });
    const page = await opened('entities', sara.key, { width: 390 });
    await page.getByText('<img src=x onerror=alert(1)> \\u202e001').waitFor();
    expect(await overflow(page)).toBe(0);
    await page.getByRole('link', { name: /onerror/ }).click();
    await page.getByRole('heading', { level: 3, name: '<script>' }).waitFor();
    await page.getByRole('region', { name: 'History' }).getByRole('listitem').nth(1).waitFor();
    expect(await page.locator('main img, main script').count()).toBe(0);
    expect(await overflow(page)).toBe(0);
  });
});
