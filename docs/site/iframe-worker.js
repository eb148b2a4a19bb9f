// Search in pages that are opened as files. A browser starts no worker from a file, so the search's script runs in a hidden frame.
// From a server the browser's own workers do it.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      document.body.append(this.frame);
      const inside = this.frame.contentWindow;
      inside.postMessage = (data) => {
        const event = new MessageEvent("message", { data });
        this.onmessage?.(event);
        this.dispatchEvent(event);
      };
      inside.importScripts = (...urls) => Promise.all(urls.map((each) => this.load(each)));
      this.ready = this.load(url);
    }

    load(url) {
      return new Promise((resolve, reject) => {
        const page = this.frame.contentDocument;
        const script = page.createElement("script");
        script.src = new URL(url, location.href);
        script.onload = resolve;
        script.onerror = () => reject(new Error(`${script.src} cannot be read`));
        page.body.append(script);
      });
    }

    postMessage(data) {
      this.ready.then(() => this.frame.contentWindow.dispatchEvent(new MessageEvent("message", { data })));
    }

    terminate() {
      this.frame.remove();
    }
  };
}
