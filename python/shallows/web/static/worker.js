// The simulator of a page without a server, in a worker: runs two schemes in turn, a chunk of film at a time.
// Messages in: {module} first, then requests with an `id`. Messages out: answers, and the news of runs.

const QUICK_MS = 20, SLOW_MS = 150; // larger chunks of a quick run, smaller ones of a slow run that one watches
const decoder = new TextDecoder(), encoder = new TextEncoder();
let core = null, panic = "";
const runs = [null, null];

const memory = () => new Uint8Array(core.memory.buffer);

// The answer to a request: an object, or the bytes of a chunk.
function ask(request) {
  const text = encoder.encode(JSON.stringify(request));
  const place = core.take(text.length); // before the memory is looked at: it may grow
  memory().set(text, place);
  const kind = core.ask(), from = core.answer();
  const bytes = memory().slice(from, from + core.answered());
  return kind === 2 ? bytes.buffer : JSON.parse(decoder.decode(bytes));
}

async function start(module, send) {
  const said = (from, length) => { panic = decoder.decode(memory().slice(from, from + length)); };
  core = (await WebAssembly.instantiate(module, { env: { said } })).exports;
  core.start();
  send({ ready: true, ...ask({ do: "version" }) });
}

function run({ side, number, text, settings }, send) {
  const header = ask({ do: "begin", side, text, settings });
  if (header.faults) return send({ side, number, faults: header.faults });
  const { first, most, experiment } = header;
  delete header.experiment;
  runs[side] = { number, looks: first, most, done: 0, all: header.looks, ms: 0, going: true };
  send({ side, number, header, experiment });
}

// One chunk of a run; whether there is more to do.
function step(side, send) {
  const own = runs[side];
  if (!own?.going) return;
  const began = performance.now();
  const chunk = ask({ do: "chunk", side, looks: own.looks });
  const took = performance.now() - began;
  own.ms += took;
  if (chunk.error) {
    runs[side] = null;
    return send({ side, number: own.number, failed: chunk.error });
  }
  own.done += Math.min(own.looks, own.all - own.done);
  if (took < QUICK_MS) own.looks = Math.min(4 * own.looks, own.most);
  else if (took > SLOW_MS) own.looks = Math.max(own.looks >> 1, 1);
  send({ side, number: own.number, chunk }, [chunk]);
  if (own.done >= own.all) {
    own.going = false;
    send({ side, number: own.number, end: ask({ do: "end", side }), ms: own.ms });
  }
}

function serve(message, send) {
  try {
    if (message.do === "run") return run(message, send);
    if (message.do === "pace") { if (runs[message.side] && runs[message.side].done < runs[message.side].all) runs[message.side].going = message.going; return; }
    if (message.do === "stop") runs[message.side] = null;
    send({ id: message.id, answer: ask(message) });
  } catch (error) {
    send({ crashed: panic || String(error) });
  }
}

function turn(send) {
  try { for (const side of [0, 1]) step(side, send); } catch (error) {
    runs.fill(null);
    send({ crashed: panic || String(error) });
  }
}

if (typeof postMessage === "function" && typeof importScripts === "function") {
  const send = (message, moved) => postMessage(message, moved || []);
  // Turns of its own between messages, so that a stop is read at once; a timer would wait four milliseconds each time.
  const channel = new MessageChannel();
  let waiting = false;
  const again = () => { if (!waiting && runs.some((own) => own?.going)) { waiting = true; channel.port2.postMessage(0); } };
  channel.port1.onmessage = () => { waiting = false; turn(send); again(); };
  let ready = null;
  onmessage = async ({ data }) => {
    if (data.module) ready = start(data.module, send);
    await ready;
    if (!data.module) serve(data, send);
    again();
  };
}
