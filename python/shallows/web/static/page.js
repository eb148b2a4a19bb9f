// Dark or light in Quasar's page. look.js comes first.
window.shallowsApplyDark = (dark) => {
  Quasar.Dark.set(dark);
  emitEvent("sh-dark", dark);
};
const ready = () => (window.did_handshake && window.Quasar ? shallowsApplyDark(shallowsIsDark()) : setTimeout(ready, 40));
ready();
