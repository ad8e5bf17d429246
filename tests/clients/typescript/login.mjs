// node login.mjs FLAVOUR PART URL CALLBACK DOCUMENT: how a client that knows only the endpoint's URL gets its token, uses
// it and loses it. A part whose name begins with a flavour's is for it alone. Prints, a line of JSON each, what the person
// or the site is to do, and reads a line of JSON with what came of it.

import assert from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import { createInterface } from "node:readline";
import { UnauthorizedError as UnauthorizedV1 } from "@modelcontextprotocol/sdk/client/auth.js";
import * as machinesV1 from "@modelcontextprotocol/sdk/client/auth-extensions.js";
import * as v2 from "@modelcontextprotocol/client";
import { connect, transport } from "./connect.mjs";

const [flavour, part, url, callback, document] = process.argv.slice(2);
const PROTECTED = { name: "listPriceAlerts", arguments: {} };
const WRITING = { name: "setPriceAlert", arguments: { country: "AT", limit: 0.1 } };

const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const outside = async (order) => {
  console.log(JSON.stringify(order));
  return JSON.parse((await lines.next()).value);
};

/** What a client remembers between its steps, in memory. */
class Memory {
  redirectUrl = callback;
  logins = 0;

  constructor({ method = "none", ...metadata }) {
    this.clientMetadataUrl = metadata.document;
    this.clientMetadata = {
      client_name: "Tourist",
      redirect_uris: [callback],
      grant_types: ["authorization_code", "refresh_token"],
      response_types: ["code"],
      token_endpoint_auth_method: method,
    };
  }

  state() {
    return (this.sent = crypto.randomUUID());
  }
  clientInformation() {
    return this.client;
  }
  saveClientInformation(client) {
    this.client = client;
  }
  tokens() {
    return this.kept;
  }
  saveTokens(tokens) {
    this.kept = tokens;
  }
  codeVerifier() {
    return this.verifier;
  }
  saveCodeVerifier(verifier) {
    this.verifier = verifier;
  }
  invalidateCredentials(scope) {
    if (scope === "all" || scope === "tokens") this.kept = undefined;
    if (scope === "all" || scope === "client") this.client = undefined;
  }
  async redirectToAuthorization(page) {
    this.logins += 1;
    this.answer = await outside({ open: page.href });
    assert.equal(this.answer.state, this.sent);
  }
}

/** A client, what it remembers and `seen`, the requests it made: method, path and status. */
async function stranger({ memory = new Memory({}) } = {}) {
  const seen = [];
  const noting = async (address, init) => {
    const answer = await fetch(address, init);
    seen.push(`${init?.method ?? "GET"} ${new URL(address).pathname} ${answer.status}`);
    return answer;
  };
  const options = { fetch: noting, authProvider: memory };
  /** Do something; where that sends the person to the browser, go on with what they brought back and do it again. */
  const throughLogin = async (action, way) => {
    try {
      return await action();
    } catch (error) {
      if (!(error instanceof UnauthorizedV1 || error instanceof v2.UnauthorizedError)) throw error;
    }
    const answer = new URLSearchParams(memory.answer);
    await way().finishAuth(flavour === "sdk-v1" ? answer.get("code") : answer);
    return action();
  };
  const client = await throughLogin(() => connect(flavour, url, options), () => transport(flavour, url, options));
  return { client, memory, seen, call: (call) => throughLogin(() => client.callTool(call), () => client.transport) };
}

const works = (result) => assert.equal(result.isError, false, JSON.stringify(result));
const asked = (seen, text) => seen.filter((line) => line.startsWith(text));

const parts = {
  async "registers itself, logs in and calls"() {
    const { client, memory, seen, call } = await stranger();
    await client.listTools();
    assert.equal(memory.logins, 0);
    works(await call(PROTECTED));
    const [login, consent, ...more] = await outside({ pages: true });
    assert.match(login, /Sign in to/);
    for (const text of ["Tourist", "registered itself", new URL(callback).host, url]) assert.ok(consent.includes(text), text);
    assert.deepEqual(more, []);
    assert.ok(memory.client.client_id);
    assert.equal(memory.client.client_secret, undefined);
    assert.equal(memory.answer.iss, new URL(url).origin);
    assert.deepEqual([memory.kept.scope, memory.kept.expires_in], ["mcp:tools", 900]);
    const refused = seen.indexOf("POST /mcp 401");
    assert.deepEqual(
      [...new Set(seen.slice(refused).filter((line) => !line.startsWith("GET /mcp")))],
      [
        "POST /mcp 401",
        "GET /.well-known/oauth-protected-resource/mcp 200",
        "GET /.well-known/oauth-authorization-server 200",
        "POST /oauth/register/ 201",
        "POST /oauth/token/ 200",
        "POST /mcp 200",
      ],
    );
  },

  async "registers for a secret and uses it"() {
    for (const method of ["client_secret_basic", "client_secret_post"]) {
      const { memory, seen, call } = await stranger({ memory: new Memory({ method }) });
      works(await call(PROTECTED));
      assert.equal(memory.client.token_endpoint_auth_method, method);
      assert.ok(memory.client.client_secret);
      assert.deepEqual(asked(seen, "POST /oauth/token/"), ["POST /oauth/token/ 200"]);
    }
  },

  async "is known by its document"() {
    const { memory, seen, call } = await stranger({ memory: new Memory({ document }) });
    works(await call(PROTECTED));
    assert.equal(memory.client.client_id, document);
    assert.deepEqual(asked(seen, "POST /oauth/register/"), []);
    const consent = (await outside({ pages: true })).at(-1);
    for (const text of ["Tourist of client.test", "client.test</bdi> describes it"]) assert.ok(consent.includes(text), text);
  },

  async "hears that the person denied"() {
    await outside({ press: "Deny" });
    const { client, memory, seen, call } = await stranger();
    if (flavour === "sdk-v1") {
      await assert.rejects(client.callTool(PROTECTED), UnauthorizedV1);
    } else {
      await assert.rejects(call(PROTECTED), (error) => {
        assert.ok(error instanceof v2.OAuthError, String(error));
        assert.equal(error.code, "access_denied");
        return true;
      });
    }
    assert.equal(memory.answer.error, "access_denied");
    assert.equal(memory.answer.iss, new URL(url).origin);
    assert.deepEqual(asked(seen, "POST /oauth/token/"), []);
    assert.equal(memory.kept, undefined);
  },

  async "client-v2: steps up when a tool needs more"() {
    const { memory, seen, call } = await stranger();
    works(await call(PROTECTED));
    assert.equal(memory.kept.scope, "mcp:tools");
    works(await call(WRITING));
    assert.deepEqual(memory.kept.scope.split(" ").sort(), ["example:write", "mcp:tools"]);
    assert.equal(asked(seen, "POST /mcp 403").length, 1);
    assert.equal(memory.logins, 2);
    assert.match((await outside({ pages: true })).at(-1), /example:write/);
    works(await call(PROTECTED));
  },

  async "client-v2: hears that the person denied more, and keeps what it has"() {
    const { memory, call } = await stranger();
    works(await call(PROTECTED));
    await outside({ press: "Deny" });
    await assert.rejects(call(WRITING), (error) => error.code === "access_denied");
    assert.equal(memory.kept.scope, "mcp:tools");
    works(await call(PROTECTED));
  },

  async "asks at once for all that the call needs"() {
    const { memory, seen, call } = await stranger();
    works(await call(WRITING));
    assert.deepEqual(memory.kept.scope.split(" ").sort(), ["example:write", "mcp:tools"]);
    works(await call(PROTECTED));
    assert.equal(memory.logins, 1);
    assert.deepEqual(asked(seen, "POST /mcp 403"), []);
  },

  async "sdk-v1: gives up where it would have to step up"() {
    const { memory, seen, call } = await stranger();
    works(await call(PROTECTED));
    await assert.rejects(call(WRITING), /403 after trying upscoping/);
    assert.equal(memory.logins, 1);
    assert.equal(asked(seen, "POST /mcp 403").length, 2);
    works(await call(PROTECTED)); // the token it renewed in between is good
  },

  async "logs in to connect, where nobody enters without a token"() {
    await outside({ close: true });
    const { client, memory, call } = await stranger();
    assert.ok((await client.listTools()).tools.some((tool) => tool.name === PROTECTED.name));
    works(await call(PROTECTED));
    assert.equal(memory.logins, 1);
  },

  async "acts for itself, with a secret"() {
    const { ClientCredentialsProvider } = flavour === "sdk-v1" ? machinesV1 : v2;
    const given = { ...(await outside({ machine: "" })), scope: "mcp:tools" };
    const { seen, call } = await stranger({ memory: new ClientCredentialsProvider(given) });
    works(await call(PROTECTED));
    assert.deepEqual(asked(seen, "POST /oauth/token/"), ["POST /oauth/token/ 200"]);
  },

  async "acts for itself, with a key"() {
    const { PrivateKeyJwtProvider } = flavour === "sdk-v1" ? machinesV1 : v2;
    const keys = generateKeyPairSync("rsa", { modulusLength: 2048 });
    const { clientId } = await outside({ machine: JSON.stringify({ keys: [keys.publicKey.export({ format: "jwk" })] }) });
    const privateKey = keys.privateKey.export({ type: "pkcs8", format: "pem" });
    const signer = new PrivateKeyJwtProvider({ clientId, privateKey, algorithm: "RS256", scope: "mcp:tools" });
    const { seen, call } = await stranger({ memory: signer });
    works(await call(PROTECTED));
    assert.deepEqual(asked(seen, "POST /oauth/token/"), ["POST /oauth/token/ 200"]);
  },

  async "renews an expired token without the person"() {
    const { memory, seen, call } = await stranger();
    works(await call(WRITING));
    const first = memory.kept;
    await outside({ expire: true });
    works(await call(WRITING));
    assert.equal(memory.logins, 1);
    assert.notEqual(memory.kept.access_token, first.access_token);
    assert.notEqual(memory.kept.refresh_token, first.refresh_token);
    assert.equal(memory.kept.scope, first.scope);
    assert.deepEqual(asked(seen, "POST /oauth/token/"), ["POST /oauth/token/ 200", "POST /oauth/token/ 200"]);
  },

  async "asks again when the person took everything back"() {
    const { memory, seen, call } = await stranger();
    works(await call(PROTECTED));
    await outside({ disconnect: memory.client.client_id });
    works(await call(PROTECTED));
    assert.equal(memory.logins, 2);
    // It tried to renew first, and was told that this is over.
    assert.deepEqual(asked(seen, "POST /oauth/token/"), [200, 400, 200].map((status) => `POST /oauth/token/ ${status}`));
    assert.equal(asked(seen, "POST /mcp 401").length, 2);
  },
};

assert.ok(part in parts, `There is no part ${part}.`);
await parts[part]();
process.exit(0); // whatever stream is still open
