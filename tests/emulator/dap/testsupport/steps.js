// VS Code's own test client of debug adapters steps a recording, over the streams of a process or a socket.
// Arguments: python, program of the adapter, recording, port (0: the adapter is started). Prints what it found as JSON.
const assert = require("node:assert");
const { DebugClient } = require("@vscode/debugadapter-testsupport");

const [, , python, adapter, recording, port] = process.argv;

const shown = Number(port) ? {} : { program: recording }; // over a socket the adapter says what is launched

async function session(act) {
  const client = new DebugClient(python, adapter, "ringhil");
  client.defaultTimeout = 60_000;
  await client.start(Number(port) || undefined);
  try {
    return await act(client);
  } finally {
    await client.stop();
  }
}

/** Begins at the entry; goes on to a message that firmware handles; where that stopped. */
async function messages(client) {
  const launched = client.launch(shown);
  await Promise.all([client.configurationSequence(), launched, client.assertStoppedLocation("entry", {})]);
  const threads = (await client.threadsRequest()).body.threads.map(({ id }) => id);
  const threadId = threads[0];
  const breakpoints = [{ name: "kind == keepalive", condition: "way == to_firmware and cycle > 1000" }];
  const set = await client.setFunctionBreakpointsRequest({ breakpoints });
  assert.ok(set.body.breakpoints[0].verified);
  const found = [];
  for (const [move, why] of [
    ["continueRequest", "function breakpoint"],
    ["continueRequest", "function breakpoint"],
    ["reverseContinueRequest", "function breakpoint"],
    ["nextRequest", "step"],
    ["stepBackRequest", "step"],
    ["stepInRequest", "step"],
  ]) {
    const [, , trace] = await Promise.all([
      client[move]({ threadId }),
      client.waitForEvent("stopped"),
      client.assertStoppedLocation(why, {}),
    ]);
    found.push(trace.body.stackFrames);
  }
  const scopes = (await client.scopesRequest({ frameId: found.at(-1)[0].id })).body.scopes;
  const { variables } = (await client.variablesRequest({ variablesReference: scopes[0].variablesReference })).body;
  assert.ok(variables.length);
  for (const wrong of ["makeCoffee", "disassemble", "__proto__"])
    await assert.rejects(client.customRequest(wrong, {}), (error) => !error.message.includes("\n"));
  await assert.rejects(client.variablesRequest({ variablesReference: 987654 }));
  await assert.rejects(client.evaluateRequest({ expression: "nothing_of_this_name" }));
  assert.deepEqual((await client.threadsRequest()).body.threads.map(({ id }) => id), threads); // it is still there
  return found;
}

async function main() {
  const found = await session(messages);
  const inside = found.pop().find((frame) => frame.source?.path); // a line of firmware
  const place = { path: inside.source.path, line: inside.line };
  // A breakpoint on that line of firmware is hit, in a session of its own.
  await session((client) => client.hitBreakpoint({ ...shown, stopOnEntry: false }, place));
  console.log(JSON.stringify({ numbers: found.map(([{ name }]) => parseInt(name)), place }));
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
